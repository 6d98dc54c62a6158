/* Paths come from a log, so they may lead to anything: a pipe, on which open waits, a device, which
 * may act, or an object file with a section that unpacks to all memory.
 *
 * libelf maps a file and checks its contents once.  If they changed afterwards, libelf could read
 * outside of its memory.  So a file that others may change is copied first. */
#include "debug.h"

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

/* Copies are kept to the end of the run, because the logs of many ranks name the same files. */
static struct copy {
    struct stat original;
    int fd;
} * copies;
static size_t count, cap;
static uint64_t copied_bytes;

static bool same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool is_unchanged(const struct stat *a, const struct stat *b)
{
    return mpr_file_same(a, b) && a->st_size == b->st_size && same_time(a->st_mtim, b->st_mtim) &&
           same_time(a->st_ctim, b->st_ctim);
}

/* Returns the descriptor of a copy of the file, or -1, with errno EFBIG if all copies would have
 * too many bytes.  RLIMIT_DATA does not count the memory of copies, so they get half of it. */
static int find_copy(int fd, const struct stat *st)
{
    struct rlimit limit;
    uint64_t max = MPR_COPIED_MAX;
    for (size_t i = 0; i < count; i++)
        if (is_unchanged(&copies[i].original, st)) return copies[i].fd;
    if (getrlimit(RLIMIT_DATA, &limit) == 0 && limit.rlim_cur / 2 < max) max = limit.rlim_cur / 2;
    if ((uint64_t)st->st_size > max - (copied_bytes < max ? copied_bytes : max)) {
        errno = EFBIG;
        return -1;
    }
    const int copy = memfd_create("object", MFD_CLOEXEC);
    if (copy < 0) return -1;
    /* The file may grow without end, so only the bytes that it had when it was opened are copied.
     */
    ssize_t done = 0;
    for (off_t left = st->st_size; left > 0 && (done = sendfile(copy, fd, NULL, (size_t)left)) > 0;)
        left -= done;
    if (done < 0) {
        const int error = errno;
        close(copy);
        errno = error;
        return -1;
    }
    copied_bytes += (uint64_t)st->st_size;
    *MPR_ADD(copies, count, cap) = (struct copy){ *st, copy };
    return copy;
}

int mpr_object_open(const char *path)
{
    struct stat st;
    const int fd = mpr_file_open_named(path, O_RDONLY, &st);
    const bool others_may_change =
        fd >= 0 && ((st.st_uid && st.st_uid != geteuid()) || (st.st_mode & (S_IWGRP | S_IWOTH)));
    if (!others_may_change) return fd;
    const int copy = find_copy(fd, &st), error = errno;
    close(fd);
    errno = error;
    return copy < 0 ? -1 : fcntl(copy, F_DUPFD_CLOEXEC, 0);
}

int mpr_object_has_build_id(int fd, const uint8_t *build_id, size_t bytes)
{
    const void *id;
    Elf *elf = mpr_dw.elf_begin(fd, ELF_C_READ_MMAP, NULL);
    const bool is_object = elf && mpr_dw.elf_kind(elf) == ELF_K_ELF;
    const ssize_t found = is_object ? mpr_dw.dwelf_elf_gnu_build_id(elf, &id) : 0;
    const bool same = found == (ssize_t)bytes && (!bytes || memcmp(id, build_id, bytes) == 0);
    mpr_dw.elf_end(elf);
    return is_object ? same : -1;
}

bool mpr_object_unpacks_well(int fd)
{
    struct stat st;
    uint64_t unpacked = 0;
    GElf_Chdr head;
    GElf_Shdr section;
    Elf *elf = mpr_dw.elf_begin(fd, ELF_C_READ_MMAP, NULL);
    for (Elf_Scn *s = NULL; elf && (s = mpr_dw.elf_nextscn(elf, s));) {
        if (!mpr_dw.gelf_getshdr(s, &section) || !(section.sh_flags & SHF_COMPRESSED) ||
            !mpr_dw.gelf_getchdr(s, &head))
            continue;
        if (__builtin_add_overflow(unpacked, head.ch_size, &unpacked)) unpacked = UINT64_MAX;
    }
    const bool good =
        elf && fstat(fd, &st) == 0 && unpacked / MPR_UNPACKED_MAX <= (uint64_t)st.st_size;
    mpr_dw.elf_end(elf);
    return good;
}
