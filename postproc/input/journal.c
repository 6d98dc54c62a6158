/* The image is a copy, not a mapping: a running process changes the file beneath us. */
#include "journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "basename.h"
#include "file.h"

enum { READ_BYTES = 1 << 20 };

/* Bytes of the head and the chunks that may be in use; 0 when the file is no journal. */
static size_t used_bytes(int fd, uint64_t size)
{
    struct mpf_journal head;
    if (pread(fd, &head, sizeof head, 0) != (ssize_t)sizeof head) return 0;
    if (memcmp(head.magic, MPF_JOURNAL_MAGIC, sizeof head.magic) != 0) return 0;
    uint64_t used = head.head_bytes + (uint64_t)head.chunks * MPF_CHUNK_BYTES;
    if (used > MPR_JOURNAL_MAX) used = MPR_JOURNAL_MAX;
    return (size_t)(used < size ? used : size);
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

static bool read_image(struct mpr_journal *j)
{
    const size_t used = used_bytes(j->fd, (uint64_t)j->st.st_size);
    if (!used) return false;
    j->image = calloc(1, used);
    j->no_memory = !j->image;
    if (!j->image) return false;
    j->bytes = read_all(j->fd, j->image, used);
    return mpf_journal_check(j->image, j->bytes, &j->head) == 0;
}

static bool load(struct mpr_journal *j, const char *path, int follow, const struct stat *log)
{
    *j = (struct mpr_journal){ .fd = -1 };
    if (snprintf(j->path, sizeof j->path, "%s", path) < (int)sizeof j->path)
        j->fd = mpr_file_open_named(path, O_RDONLY | follow, &j->st);
    if (j->fd >= 0 && (!log || j->st.st_uid == log->st_uid) && read_image(j)) return true;
    const bool no_memory = j->no_memory;
    mpr_journal_free(j);
    j->no_memory = no_memory;
    return false;
}

bool mpr_journal_load(struct mpr_journal *j, const char *path) { return load(j, path, 0, NULL); }

static bool load_matching(struct mpr_journal *j, const char *path, const struct stat *log,
                          const struct mpr_header *header)
{
    static const uint8_t none[sizeof header->id];
    if (memcmp(header->id, none, sizeof none) == 0 || !load(j, path, O_NOFOLLOW, log)) return false;
    if (memcmp(j->head.id, header->id, sizeof header->id) == 0) return true;
    mpr_journal_free(j);
    return false;
}

/* The path of `name` in the log's folder. */
static void beside(char *out, size_t cap, const char *log_path, const char *name)
{
    const char *slash = strrchr(log_path, '/');
    snprintf(out, cap, "%.*s%s", slash ? (int)(slash + 1 - log_path) : 0, log_path, name);
}

bool mpr_journal_find(struct mpr_journal *j, const char *log_path, const struct stat *log,
                      const struct mpr_header *header)
{
    char path[PATH_MAX];
    const char *named = mpr_header_get(header, "journal");
    *j = (struct mpr_journal){ .fd = -1 };
    snprintf(path, sizeof path, "%s.journal", log_path);
    if (load_matching(j, path, log, header)) return true;
    if (!named || j->no_memory) return false;
    beside(path, sizeof path, log_path, mpr_basename(named));
    return load_matching(j, path, log, header) ||
           (!j->no_memory && load_matching(j, named, log, header));
}

void mpr_journal_free(struct mpr_journal *j)
{
    free(j->image);
    if (j->fd >= 0) close(j->fd);
    *j = (struct mpr_journal){ .fd = -1 };
}
