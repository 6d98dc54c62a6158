#include "stacks/build_id.h"

#include <elf.h>
#include <string.h>

#include "base/sys.h"

enum { NOTES_MAX = 64 };

/* Reads the notes one by one, because the program's stack may be small. */
static size_t build_id_in(int pid, uint64_t notes, uint64_t bytes, uint8_t *out)
{
    struct {
        Elf64_Nhdr head;
        char name[4];
    } note;
    uint64_t at = 0;
    for (unsigned i = 0; i < NOTES_MAX && at <= bytes && bytes - at >= sizeof note; i++) {
        if (!mp_sys_peek(pid, notes + at, &note, sizeof note)) return 0;
        const Elf64_Nhdr *n = &note.head;
        const uint64_t data = at + sizeof *n + ((n->n_namesz + UINT64_C(3)) & ~UINT64_C(3));
        if (data > bytes || n->n_descsz > bytes - data) return 0;
        if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == sizeof note.name &&
            !memcmp(note.name, "GNU", sizeof note.name) && n->n_descsz <= MP_BUILD_ID_BYTES)
            return mp_sys_peek(pid, notes + data, out, n->n_descsz) ? n->n_descsz : 0;
        at = data + ((n->n_descsz + UINT64_C(3)) & ~UINT64_C(3));
    }
    return 0;
}

size_t mp_build_id(uint64_t base, uint8_t out[MP_BUILD_ID_BYTES])
{
    Elf64_Ehdr e;
    uint64_t bias = base;
    const int pid = mp_sys_getpid();
    if (!mp_sys_peek(pid, base, &e, sizeof e) || memcmp(e.e_ident, ELFMAG, SELFMAG) != 0) return 0;
    for (unsigned i = 0, first = 1; i < e.e_phnum; i++) {
        Elf64_Phdr p;
        if (!mp_sys_peek(pid, base + e.e_phoff + i * sizeof p, &p, sizeof p)) return 0;
        if (p.p_type == PT_LOAD && first) {
            bias = base - (p.p_vaddr & ~(uint64_t)(mp_sys_page() - 1));
            first = 0;
        }
        if (p.p_type != PT_NOTE) continue;
        const size_t n = build_id_in(pid, bias + p.p_vaddr, p.p_memsz, out);
        if (n) return n;
    }
    return 0;
}
