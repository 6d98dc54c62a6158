/* A frame of the calling thread's stack. */
#ifndef MP_FRAME_H
#define MP_FRAME_H

#include <stdint.h>

#include "base/machine.h"

/* Registers of a function while it calls another. The frame pointer (rbp, x29) is given by the
 * place where it is saved, not by its value: most functions do not use it, and the next one that
 * needs it has saved it elsewhere. */
/* NULL: not known */
struct mp_frame {
    uintptr_t pc, sp;
    const uintptr_t *fp_at;
};

/* Returns the frame of the caller of the current function, which has a frame record: the saved
 * frame pointer and the return address. */
static inline __attribute__((always_inline)) struct mp_frame mp_frame_of_caller(void)
{
    const uintptr_t *here = __builtin_frame_address(0);
    return (struct mp_frame){ mp_machine_code(here[1]), (uintptr_t)__builtin_dwarf_cfa(), here };
}

#endif
