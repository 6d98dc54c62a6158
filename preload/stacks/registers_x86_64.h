/* x86-64 (registers.h says what each is). */
#ifndef MP_REGISTERS_X86_64_H
#define MP_REGISTERS_X86_64_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "base/frame.h"

enum { MP_REG_FP = 6, MP_REG_SP = 7, MP_REG_RETURN = 16 }; /* rbp, rsp */
enum { MP_RETURN_IS_BELOW = true, MP_RED_ZONE = 128, MP_CFA_SIGNED = -1, MP_SIGNAL_INFO = 0 };
#define MP_AUGMENTATIONS ""

static inline struct mp_frame mp_interrupted(const ucontext_t *u, const uintptr_t **link)
{
    const greg_t *g = u->uc_mcontext.gregs;
    *link = NULL;
    return (struct mp_frame){ (uintptr_t)g[REG_RIP], (uintptr_t)g[REG_RSP],
                              (const uintptr_t *)&g[REG_RBP] };
}

/* The C library's has it. */
static inline bool mp_ends_handler(uintptr_t pc)
{
    (void)pc;
    return false;
}

#endif
