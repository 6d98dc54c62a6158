/* A frame of the calling thread's stack. */
#ifndef MP_FRAME_H
#define MP_FRAME_H

#include <stdint.h>

/* A function's registers while it calls another.  Where its rbp is, and not what: most functions
 * leave it to others, who have anything in it, and the next one that needs it has saved it
 * elsewhere. */
/* NULL: not known */
struct mp_frame {
    uintptr_t pc, rsp;
    const uintptr_t *rbp_at;
};

/* The caller of the function that this stands in, which has a frame pointer by it. */
static inline __attribute__((always_inline)) struct mp_frame mp_frame_of_caller(void)
{
    const uintptr_t *here = __builtin_frame_address(0);
    return (struct mp_frame){ here[1], (uintptr_t)(here + 2), here };
}

#endif
