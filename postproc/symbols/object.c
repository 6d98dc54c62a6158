/* Paths come out of a log, so anything may lie there: a pipe would be waited for, a device acted
 * upon, and a section that unpacks to a thousand times its size would take all memory. */
#include "object.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "file.h"

int mpr_object_open(const char *path)
{
    struct stat st;
    return mpr_file_open_named(path, O_RDONLY, &st);
}

int mpr_object_is(int fd, const uint8_t *build_id, size_t bytes)
{
    const void *id;
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    const bool object = elf && elf_kind(elf) == ELF_K_ELF;
    const ssize_t found = object ? dwelf_elf_gnu_build_id(elf, &id) : 0;
    const bool same = found == (ssize_t)bytes && (!bytes || memcmp(id, build_id, bytes) == 0);
    elf_end(elf);
    return object ? same : -1;
}

/* What the file's compressed sections say that they unpack to. */
static uint64_t unpacked(Elf *elf)
{
    uint64_t sum = 0;
    GElf_Chdr head;
    GElf_Shdr section;
    for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s));) {
        if (!gelf_getshdr(s, &section) || !(section.sh_flags & SHF_COMPRESSED) ||
            !gelf_getchdr(s, &head))
            continue;
        sum = head.ch_size > UINT64_MAX - sum ? UINT64_MAX : sum + head.ch_size;
    }
    return sum;
}

bool mpr_object_unpacks_well(int fd)
{
    struct stat st;
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    const bool good =
        elf && fstat(fd, &st) == 0 && unpacked(elf) / MPR_UNPACKED_MOST <= (uint64_t)st.st_size;
    elf_end(elf);
    return good;
}
