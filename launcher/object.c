#include "object.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "machine.h"

/* Returns the bytes [offset, offset + count * each) of the file, or NULL if the file is shorter. */
static const void *part(const struct mpl_object *o, uint64_t offset, uint64_t count, size_t each)
{
    uint64_t bytes;
    if (__builtin_mul_overflow(count, each, &bytes) || offset > o->bytes ||
        bytes > o->bytes - offset)
        return NULL;
    return o->at + offset;
}

/* Returns a string of the table at `table`, or "" if it is not completely in the file. */
static const char *text(const struct mpl_object *o, uint64_t table, uint64_t at)
{
    if (table > o->bytes || at >= o->bytes - table) return "";
    const char *s = (const char *)o->at + table + at;
    return memchr(s, 0, o->bytes - table - at) ? s : "";
}

static const Elf64_Ehdr *header(const struct mpl_object *o) { return (const Elf64_Ehdr *)o->at; }

/* Headers may be at unaligned offsets in a hostile file, so they are copied before use. */
static bool segment(const struct mpl_object *o, unsigned i, Elf64_Phdr *out)
{
    const Elf64_Ehdr *e = header(o);
    const uint8_t *headers =
        e->e_phentsize == sizeof *out ? part(o, e->e_phoff, e->e_phnum, sizeof *out) : NULL;
    if (!headers || i >= e->e_phnum) return false;
    memcpy(out, headers + i * sizeof *out, sizeof *out);
    return true;
}

static bool find_segment(const struct mpl_object *o, uint32_t type, Elf64_Phdr *out)
{
    for (unsigned i = 0; segment(o, i, out); i++) {
        if (out->p_type == type) return true;
    }
    return false;
}

/* Checks the file name of the loader in the segment. */
static bool is_musl(const struct mpl_object *o, const Elf64_Phdr *interpreter)
{
    static const char musl[] = "ld-musl-";
    const char *path = text(o, interpreter->p_offset, 0), *slash = strrchr(path, '/');
    return strncmp(slash ? slash + 1 : path, musl, sizeof musl - 1) == 0;
}

static enum mpl_object_kind kind_of(const struct mpl_object *o)
{
    if (o->bytes < SELFMAG || memcmp(o->at, ELFMAG, SELFMAG) != 0) return MPL_OBJECT_OTHER;
    if (o->bytes < sizeof(Elf64_Ehdr) || o->at[EI_CLASS] != ELFCLASS64 ||
        header(o)->e_machine != MPL_MACHINE)
        return MPL_OBJECT_FOREIGN;
    Elf64_Phdr interpreter;
    if (!segment(o, 0, &interpreter)) return MPL_OBJECT_OTHER;
    if (!find_segment(o, PT_INTERP, &interpreter)) return MPL_OBJECT_STATIC;
    return is_musl(o, &interpreter) ? MPL_OBJECT_MUSL : MPL_OBJECT_DYNAMIC;
}

void mpl_object_open(struct mpl_object *o, const char *path)
{
    *o = (struct mpl_object){ .kind = MPL_OBJECT_UNREADABLE };
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0) return;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        void *at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (at != MAP_FAILED) *o = (struct mpl_object){ .at = at, .bytes = (size_t)st.st_size };
        if (o->at || !st.st_size) o->kind = kind_of(o);
    }
    close(fd);
}

void mpl_object_close(struct mpl_object *o)
{
    if (o->at) munmap((void *)o->at, o->bytes);
    *o = (struct mpl_object){ .kind = MPL_OBJECT_UNREADABLE };
}

/* Returns the offset in the file of the byte that is loaded at `address`, or an offset past the
 * end. */
static uint64_t file_offset(const struct mpl_object *o, uint64_t address)
{
    Elf64_Phdr p;
    for (unsigned i = 0; segment(o, i, &p); i++) {
        if (p.p_type != PT_LOAD || address < p.p_vaddr) continue;
        if (address - p.p_vaddr < p.p_filesz) return p.p_offset + (address - p.p_vaddr);
    }
    return UINT64_MAX;
}

bool mpl_object_needs(const struct mpl_object *o, const char *prefix)
{
    Elf64_Phdr p;
    if (o->kind != MPL_OBJECT_DYNAMIC || !find_segment(o, PT_DYNAMIC, &p)) return false;
    const uint64_t count = p.p_filesz / sizeof(Elf64_Dyn);
    const uint8_t *entries = part(o, p.p_offset, count, sizeof(Elf64_Dyn));
    uint64_t strings = UINT64_MAX;
    Elf64_Dyn d;
    for (uint64_t i = 0; entries && i < count; i++) {
        memcpy(&d, entries + i * sizeof d, sizeof d);
        if (d.d_tag == DT_STRTAB) strings = file_offset(o, d.d_un.d_ptr);
    }
    for (uint64_t i = 0; entries && i < count; i++) {
        memcpy(&d, entries + i * sizeof d, sizeof d);
        if (d.d_tag == DT_NEEDED &&
            strncmp(text(o, strings, d.d_un.d_val), prefix, strlen(prefix)) == 0)
            return true;
    }
    return false;
}
