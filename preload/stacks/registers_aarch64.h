/* aarch64; registers.h describes each name. */
#ifndef MP_REGISTERS_AARCH64_H
#define MP_REGISTERS_AARCH64_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#include "base/frame.h"
#include "base/sys.h"

enum { MP_REG_FP = 29, MP_REG_RETURN = 30, MP_REG_SP = 31 };
/* DW_CFA_AARCH64_negate_ra_state. Letters: B is the signing key, the stack is tagged. */
enum {
    MP_RETURN_IS_BELOW = false,
    MP_RECORD_AT_TOP = false,
    MP_RED_ZONE = 0,
    MP_CFA_SIGNED = 0x2d,
    MP_SIGNAL_INFO = sizeof(siginfo_t)
};
#define MP_AUGMENTATIONS "BG"

static inline struct mp_frame mp_interrupted(const ucontext_t *u, const uintptr_t **link)
{
    const mcontext_t *m = &u->uc_mcontext;
    *link = (const uintptr_t *)&m->regs[MP_REG_RETURN];
    return (struct mp_frame){ (uintptr_t)m->pc, (uintptr_t)m->sp,
                              (const uintptr_t *)&m->regs[MP_REG_FP] };
}

/* Since Linux 5.8 the kernel's code has no call frame information on purpose. Unwinders recognise
 * it by its two instructions. */
static inline bool mp_ends_handler(uintptr_t pc)
{
    static const uint32_t sigreturn[] = { 0xd2801168, 0xd4000001 }; /* mov x8, #139; svc #0 */
    uint32_t code[2];
    return pc % sizeof *code == 0 && mp_sys_peek(mp_sys_getpid(), pc, code, sizeof code) &&
           memcmp(code, sigreturn, sizeof code) == 0;
}

/* Not needed: MP_RECORD_AT_TOP is false. */
static inline bool mp_follows_call(uintptr_t pc)
{
    (void)pc;
    return false;
}

#endif
