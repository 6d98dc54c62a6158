/* A thread's stack, by call frame information (cfi.h), whatever the program was built with: some 6
 * ns a frame, because the rule of an address is looked up once.  In any context of the program:
 * takes no lock but a short one of memprof, reads nothing but the stack that the thread is on. */
#ifndef MP_UNWINDER_H
#define MP_UNWINDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/frame.h"

enum { MP_UNWIND_MAX = 72 }; /* frames */

/* Once, where dlsym may be called.  False: no stacks on this system. */
bool mp_unwind_init(void);

/* Return addresses from a frame of the calling thread on, its own first; the number of them.
 * `generation` is mp_module_now(). */
unsigned mp_unwind(const struct mp_frame *from, uint64_t pc[MP_UNWIND_MAX], uint32_t generation);

/* ---- its parts */

/* The words of a stack, but the last. */
struct mp_bounds {
    uintptr_t low, bytes;
};

/* What a step has read: the same words there, and the same registers before, lead to the same
 * frame. */
enum { MP_READS_MAX = 3 };
struct mp_read {
    const uintptr_t *at;
    uintptr_t word;
};
struct mp_reads {
    struct mp_read read[MP_READS_MAX];
    unsigned count;
};

/* Of the stack that the frame is on; false: it is on none that is known. */
bool mp_unwind_bounds(uintptr_t sp, struct mp_bounds *out);

/* To the caller of a function that made a call.  MP_STEP_NO_CALLER: whatever is on the stack. */
enum mp_step { MP_STEP_MADE, MP_STEP_NO_CALLER, MP_STEP_SIGNAL, MP_STEP_FAILED };
enum mp_step mp_unwind_step(struct mp_frame *f, struct mp_bounds b, uint32_t generation,
                            struct mp_reads *reads);

#endif
