/* Paths come out of a log, so anything may lie there: a pipe would be waited for, a device acted
 * upon, and a section that unpacks to a thousand times its size would take all memory.
 *
 * libelf maps a file and checks what it says once: who changed it in between would have it read
 * outside of its memory.  So what others may change is copied first. */
#include "object.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc.h"
#include "file.h"
#include "libdw.h"

struct copy {
    struct stat of;
    int fd;
};

/* They stay for the run: the logs of many ranks name the same files. */
static struct copy *copies;
static size_t count, cap;
static uint64_t copied;

static bool others_may_change(const struct stat *st)
{
    return (st->st_uid && st->st_uid != geteuid()) || (st->st_mode & (S_IWGRP | S_IWOTH));
}

static bool same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool unchanged(const struct stat *a, const struct stat *b)
{
    return mpr_file_same(a, b) && a->st_size == b->st_size && same_time(a->st_mtim, b->st_mtim) &&
           same_time(a->st_ctim, b->st_ctim);
}

/* They are memory that RLIMIT_DATA does not count. */
static uint64_t most(void)
{
    struct rlimit limit;
    const bool known = getrlimit(RLIMIT_DATA, &limit) == 0;
    return known && limit.rlim_cur / 2 < MPR_COPIED_MOST ? limit.rlim_cur / 2 : MPR_COPIED_MOST;
}

/* As much as there was when it was opened: it may grow without end. */
static bool copy_bytes(int to, int from, off_t bytes)
{
    ssize_t done = 0;
    while (bytes > 0 && (done = sendfile(to, from, NULL, (size_t)bytes)) > 0) bytes -= done;
    return done >= 0;
}

/* -1 with errno EFBIG: there is no room for it. */
static int copy_of(int fd, const struct stat *st)
{
    for (size_t i = 0; i < count; i++)
        if (unchanged(&copies[i].of, st)) return copies[i].fd;
    if ((uint64_t)st->st_size > most() - (copied < most() ? copied : most())) {
        errno = EFBIG;
        return -1;
    }
    const int copy = memfd_create("object", MFD_CLOEXEC);
    if (copy < 0 || !copy_bytes(copy, fd, st->st_size)) {
        if (copy >= 0) close(copy);
        return -1;
    }
    copied += (uint64_t)st->st_size;
    MPR_GROW(copies, count, cap);
    copies[count++] = (struct copy){ *st, copy };
    return copy;
}

int mpr_object_open(const char *path)
{
    struct stat st;
    const int fd = mpr_file_open_named(path, O_RDONLY, &st);
    if (fd < 0 || !others_may_change(&st)) return fd;
    const int copy = copy_of(fd, &st), error = errno;
    close(fd);
    errno = error;
    return copy < 0 ? -1 : fcntl(copy, F_DUPFD_CLOEXEC, 0);
}

int mpr_object_is(int fd, const uint8_t *build_id, size_t bytes)
{
    const void *id;
    Elf *elf = mpr_dw.elf_begin(fd, ELF_C_READ_MMAP, NULL);
    const bool object = elf && mpr_dw.elf_kind(elf) == ELF_K_ELF;
    const ssize_t found = object ? mpr_dw.dwelf_elf_gnu_build_id(elf, &id) : 0;
    const bool same = found == (ssize_t)bytes && (!bytes || memcmp(id, build_id, bytes) == 0);
    mpr_dw.elf_end(elf);
    return object ? same : -1;
}

/* What the file's compressed sections say that they unpack to. */
static uint64_t unpacked(Elf *elf)
{
    uint64_t sum = 0;
    GElf_Chdr head;
    GElf_Shdr section;
    for (Elf_Scn *s = NULL; (s = mpr_dw.elf_nextscn(elf, s));) {
        if (!mpr_dw.gelf_getshdr(s, &section) || !(section.sh_flags & SHF_COMPRESSED) ||
            !mpr_dw.gelf_getchdr(s, &head))
            continue;
        sum = head.ch_size > UINT64_MAX - sum ? UINT64_MAX : sum + head.ch_size;
    }
    return sum;
}

bool mpr_object_unpacks_well(int fd)
{
    struct stat st;
    Elf *elf = mpr_dw.elf_begin(fd, ELF_C_READ_MMAP, NULL);
    const bool good =
        elf && fstat(fd, &st) == 0 && unpacked(elf) / MPR_UNPACKED_MOST <= (uint64_t)st.st_size;
    mpr_dw.elf_end(elf);
    return good;
}
