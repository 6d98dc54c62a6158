/* A frame of the calling thread's stack. */
#ifndef MP_FRAME_H
#define MP_FRAME_H

#include <stdint.h>

#include "base/machine.h"

/* A function's registers while it calls another.  Where its frame pointer (rbp, x29) is, and not
 * what: most functions leave it to others, who have anything in it, and the next one that needs it
 * has saved it elsewhere. */
/* NULL: not known */
struct mp_frame {
    uintptr_t pc, sp;
    const uintptr_t *fp_at;
};

/* The caller of the function that this stands in, which has a frame record by it: the saved frame
 * pointer and the return address. */
static inline __attribute__((always_inline)) struct mp_frame mp_frame_of_caller(void)
{
    const uintptr_t *here = __builtin_frame_address(0);
    return (struct mp_frame){ mp_machine_code(here[1]), (uintptr_t)__builtin_dwarf_cfa(), here };
}

#endif
