#include "stacks/build_id.h"

#include <elf.h>
#include <string.h>

#include "base/sys.h"

static size_t build_id_in(const uint8_t *notes, size_t bytes, uint8_t *out)
{
    size_t at = 0;
    while (at + sizeof(Elf64_Nhdr) <= bytes) {
        Elf64_Nhdr n;
        memcpy(&n, notes + at, sizeof n);
        const size_t name = at + sizeof n, data = name + ((n.n_namesz + 3u) & ~3u);
        if (data > bytes || n.n_descsz > bytes - data) return 0;
        if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 && !memcmp(notes + name, "GNU", 4) &&
            n.n_descsz <= MP_BUILD_ID_BYTES) {
            memcpy(out, notes + data, n.n_descsz);
            return n.n_descsz;
        }
        at = data + ((n.n_descsz + 3u) & ~3u);
    }
    return 0;
}

size_t mp_build_id(uint64_t base, uint8_t out[MP_BUILD_ID_BYTES])
{
    Elf64_Ehdr e;
    uint8_t notes[1024];
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
        if (p.p_type != PT_NOTE || p.p_memsz > sizeof notes ||
            !mp_sys_peek(pid, bias + p.p_vaddr, notes, p.p_memsz))
            continue;
        const size_t n = build_id_in(notes, p.p_memsz, out);
        if (n) return n;
    }
    return 0;
}
