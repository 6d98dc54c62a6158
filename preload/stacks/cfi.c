#include "stacks/cfi.h"

#include <dlfcn.h>
#include <elf.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/sys.h"
#include "stacks/registers.h"

static int (*find_object)(void *, struct dl_find_object *);

/* The program headers of an object file. Addresses in them are smaller by `bias` than in memory.
 * The object is within `low` to `high`. */
struct headers {
    const Elf64_Phdr *first, *end;
    uintptr_t bias, low, high;
};

/* The main program's headers, from the kernel: the loader has read them there, so they are mapped.
 * There may be gaps between its segments. Then the loader returns the segment of an address instead
 * of the ELF header. */
static struct headers program;

static void read_program(void)
{
    const Elf64_Phdr *const first = (const Elf64_Phdr *)getauxval(AT_PHDR);
    const Elf64_Phdr *const end = first ? first + getauxval(AT_PHNUM) : NULL;
    const uintptr_t in_page = mp_sys_page() - 1;
    struct headers found = { first, end, 0, UINTPTR_MAX, 0 };
    if (getauxval(AT_PHENT) != sizeof *first) return;
    for (const Elf64_Phdr *p = first; p < end; p++)
        if (p->p_type == PT_PHDR) found.bias = (uintptr_t)first - p->p_vaddr;
    for (const Elf64_Phdr *p = first; p < end; p++) {
        const uintptr_t from = found.bias + p->p_vaddr, to = from + p->p_memsz;
        if (p->p_type != PT_LOAD) continue;
        if (from < found.low) found.low = from & ~in_page;
        if (to > found.high) found.high = (to + in_page) & ~in_page;
    }
    if (found.low < found.high) program = found;
}

bool mp_cfi_init(void)
{
    read_program();
    find_object = (__typeof__(find_object))dlsym(RTLD_DEFAULT, "_dl_find_object");
    return find_object != NULL;
}

struct mp_span mp_cfi_program(void) { return (struct mp_span){ program.low, program.high }; }

bool mp_cfi_object(uintptr_t pc, struct dl_find_object *out)
{
    return find_object && find_object((void *)pc, out) == 0;
}

/* ---- the segment of an object file that contains its tables */

enum { FIRST = 4096 }; /* bytes at the start of a file that are mapped if any are */

/* Reads the headers of an object other than the main program, which the loader maps without gaps.
 * The first segment has the ELF header, unless it begins elsewhere in the file or cannot be read.
 */
static bool headers_of(const struct dl_find_object *object, struct headers *out)
{
    const Elf64_Ehdr *e = object->dlfo_map_start;
    const uintptr_t low = (uintptr_t)object->dlfo_map_start, high = (uintptr_t)object->dlfo_map_end;
    if (high - low < FIRST || mp_sys_is_unreadable(low)) return false;
    if (memcmp(e->e_ident, ELFMAG, SELFMAG) != 0 || e->e_phentsize != sizeof *out->first)
        return false;
    if (e->e_phoff > FIRST || e->e_phoff % 8 ||
        e->e_phnum > (FIRST - e->e_phoff) / sizeof *out->first)
        return false;
    const Elf64_Phdr *const first = (const Elf64_Phdr *)((const char *)e + e->e_phoff),
                            *const end = first + e->e_phnum, *p = first;
    while (p < end && p->p_type != PT_LOAD) p++;
    if (p == end) return false;
    const uintptr_t bias = low - (p->p_vaddr & ~(uintptr_t)(mp_sys_page() - 1));
    *out = (struct headers){ first, end, bias, low, high };
    return true;
}

/* Finds the readable bytes of a segment; returns true if the address is one of them. */
static bool contains(const struct headers *h, const Elf64_Phdr *p, uintptr_t address,
                     struct mp_cfi_tables *out)
{
    const uintptr_t from = h->bias + p->p_vaddr;
    if (p->p_type != PT_LOAD || !(p->p_flags & PF_R) || from < h->low || from >= h->high ||
        p->p_filesz > h->high - from)
        return false;
    out->from = (const uint8_t *)from;
    out->to = out->from + p->p_filesz;
    return address - from < p->p_filesz;
}

static bool is_in_program(uintptr_t pc)
{
    for (const Elf64_Phdr *p = program.first; p < program.end; p++)
        if (p->p_type == PT_LOAD && pc - (program.bias + p->p_vaddr) < p->p_memsz) return true;
    return false;
}

bool mp_cfi_tables(uintptr_t pc, struct mp_cfi_tables *out)
{
    struct dl_find_object object;
    struct headers h = program;
    if (!mp_cfi_object(pc, &object) || !object.dlfo_eh_frame) return false;
    if (!is_in_program(pc) && !headers_of(&object, &h)) return false;
    const Elf64_Phdr *p = h.first;
    out->header = object.dlfo_eh_frame;
    while (p < h.end && !contains(&h, p, (uintptr_t)out->header, out)) p++;
    return p < h.end;
}

/* ---- */

struct mp_frame_rule mp_cfi_record_rule(void)
{
    return (struct mp_frame_rule){ .kind = MP_FRAME_RECORD,
                                   .frame = 2 * sizeof(uintptr_t),
                                   .fp_kind = MP_FP_SAVED,
                                   .fp = -2 * (int)sizeof(uintptr_t),
                                   .return_kind = MP_RETURN_BEHIND_FP };
}

struct mp_frame_rule mp_cfi_rule(uintptr_t pc)
{
    struct mp_cfi_tables tables;
    struct mp_frame_rule rule = { .kind = MP_FRAME_UNKNOWN };
    if (mp_cfi_tables(pc, &tables)) rule = mp_cfi_rule_in(&tables, pc);
    if (rule.kind != MP_FRAME_NONE && rule.kind != MP_FRAME_UNKNOWN) return rule;
    if (mp_ends_handler(pc + 1)) return (struct mp_frame_rule){ .kind = MP_FRAME_SIGNAL };
    if (MP_RECORD_AT_TOP && rule.kind == MP_FRAME_UNKNOWN && mp_follows_call(pc + 1))
        return mp_cfi_record_rule();
    return rule;
}
