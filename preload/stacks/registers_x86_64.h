/* x86-64; registers.h describes each name. */
#ifndef MP_REGISTERS_X86_64_H
#define MP_REGISTERS_X86_64_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "base/frame.h"
#include "base/sys.h"

enum { MP_REG_FP = 6, MP_REG_SP = 7, MP_REG_RETURN = 16 }; /* rbp, rsp */
enum {
    MP_RETURN_IS_BELOW = true,
    MP_RECORD_AT_TOP = true,
    MP_RED_ZONE = 128,
    MP_CFA_SIGNED = -1,
    MP_SIGNAL_INFO = 0
};
#define MP_AUGMENTATIONS ""

static inline struct mp_frame mp_interrupted(const ucontext_t *u, const uintptr_t **link)
{
    const greg_t *g = u->uc_mcontext.gregs;
    *link = NULL;
    return (struct mp_frame){ (uintptr_t)g[REG_RIP], (uintptr_t)g[REG_RSP],
                              (const uintptr_t *)&g[REG_RBP] };
}

/* The C library's code has call frame information. */
static inline bool mp_ends_handler(uintptr_t pc)
{
    (void)pc;
    return false;
}

/* Returns the length of the call by a register or memory that begins at @code, or 0. */
static inline unsigned mp_indirect_call_bytes(const uint8_t *code)
{
    const unsigned mode = code[1] >> 6, base = code[1] & 7, has_sib = mode != 3 && base == 4;
    if (code[0] != 0xff || (code[1] >> 3 & 7) != 2) return 0;
    const unsigned no_base = mode == 0 && (has_sib ? code[2] & 7 : base) == 5;
    return 2 + has_sib + (mode == 1 ? 1 : mode == 2 || no_base ? 4 : 0);
}

static inline bool mp_follows_call(uintptr_t pc)
{
    enum { LONGEST = 7, BY_OFFSET = 0xe8, OFFSET_BYTES = 5 };
    uint8_t code[LONGEST + 1] = { 0 };
    const size_t in_page = (pc - 1) % 4096 + 1;
    size_t bytes = LONGEST;
    if (!mp_sys_peek(mp_sys_getpid(), pc - bytes, code, bytes)) {
        if (in_page >= bytes) return false;
        bytes = in_page; /* the previous page is not mapped */
        if (!mp_sys_peek(mp_sys_getpid(), pc - bytes, code + LONGEST - bytes, bytes)) return false;
    }
    if (code[LONGEST - OFFSET_BYTES] == BY_OFFSET) return true;
    for (unsigned at = 0; at + 2 <= LONGEST; at++)
        if (mp_indirect_call_bytes(code + at) == LONGEST - at) return true;
    return false;
}

#endif
