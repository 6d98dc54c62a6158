/* The image is a copy, not a mapping: a running process changes the file beneath us. */
#include "journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mpf/journal.h"

enum { READ_BYTES = 1 << 20 };

/* Bytes of the head and the chunks that may be in use; 0 when the file is no journal. */
static size_t used_bytes(int fd)
{
    struct mpf_journal head;
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) return 0;
    if (pread(fd, &head, sizeof head, 0) != (ssize_t)sizeof head) return 0;
    if (memcmp(head.magic, MPF_JOURNAL_MAGIC, sizeof head.magic) != 0) return 0;
    uint64_t used = head.head_bytes + (uint64_t)head.chunks * MPF_CHUNK_BYTES;
    if (used > MPR_JOURNAL_MAX) used = MPR_JOURNAL_MAX;
    return used < (uint64_t)st.st_size ? (size_t)used : (size_t)st.st_size;
}

/* Where bytes of the file begin, at or behind `at`: holes cost neither memory nor time. */
static size_t next_data(int fd, size_t at, size_t bytes)
{
    const off_t data = lseek(fd, (off_t)at, SEEK_DATA);
    if (data < 0) return errno == ENXIO ? bytes : at;
    return (size_t)data < bytes ? (size_t)data : bytes;
}

/* `out` is zeros. */
static size_t read_all(int fd, uint8_t *out, size_t bytes)
{
    size_t done = next_data(fd, 0, bytes);
    while (done < bytes) {
        const size_t left = bytes - done;
        const ssize_t n = pread(fd, out + done, left < READ_BYTES ? left : READ_BYTES, (off_t)done);
        if (n <= 0) break;
        done = next_data(fd, done + (size_t)n, bytes);
    }
    return done;
}

static bool read_image(struct mpr_journal *j, int fd)
{
    struct mpf_journal head;
    const size_t used = used_bytes(fd);
    if (used < sizeof head) return false;
    j->image = calloc(1, used);
    if (!j->image) return false;
    j->bytes = read_all(fd, j->image, used);
    return mpf_journal_check(j->image, j->bytes, &head) == 0;
}

bool mpr_journal_load(struct mpr_journal *j, const char *path)
{
    *j = (struct mpr_journal){ 0 };
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return false;
    const bool good = read_image(j, fd);
    close(fd);
    if (!good) {
        mpr_journal_free(j);
        return false;
    }
    snprintf(j->path, sizeof j->path, "%s", path);
    return true;
}

static bool load_matching(struct mpr_journal *j, const char *path, const struct mpr_header *header)
{
    if (!mpr_journal_load(j, path)) return false;
    struct mpf_journal head;
    if (mpf_journal_check(j->image, j->bytes, &head) == 0 && memcmp(head.id, header->id, sizeof head.id) == 0)
        return true;
    mpr_journal_free(j);
    return false;
}

/* The path of `name` in the log's folder. */
static void beside(char *out, size_t cap, const char *log_path, const char *name)
{
    const char *slash = strrchr(log_path, '/');
    snprintf(out, cap, "%.*s%s", slash ? (int)(slash + 1 - log_path) : 0, log_path, name);
}

bool mpr_journal_find(struct mpr_journal *j, const char *log_path, const struct mpr_header *header)
{
    char path[PATH_MAX];
    const char *named = mpr_header_get(header, "journal");
    *j = (struct mpr_journal){ 0 };
    snprintf(path, sizeof path, "%s.journal", log_path);
    if (load_matching(j, path, header)) return true;
    if (!named) return false;
    const char *slash = strrchr(named, '/');
    beside(path, sizeof path, log_path, slash ? slash + 1 : named);
    return load_matching(j, path, header) || load_matching(j, named, header);
}

void mpr_journal_free(struct mpr_journal *j)
{
    free(j->image);
    *j = (struct mpr_journal){ 0 };
}
