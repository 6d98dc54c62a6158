/* Unwinds a thread's stack by call frame information (cfi.h), whatever the program was built with.
 * It takes about 6 ns per frame, because the rule of an address is looked up once. Any context of
 * the program: takes only one short lock of memprof, and reads only the stack that the thread is
 * on. */
#ifndef MP_UNWINDER_H
#define MP_UNWINDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/frame.h"
#include "base/seen.h"
#include "mpf/event.h"

enum { MP_UNWIND_MAX = 72 }; /* maximum number of frames */

/* Called once, where dlsym may be called. Returns false if stacks are not possible on this
 * system. */
bool mp_unwind_init(void);

/* Stores the return addresses from a frame of the calling thread on, its own first, and returns
 * their number. @generation: mp_module_now(). @cut: why the callers of the last one are missing, or
 * MPF_CUT_NONE if the thread began there. */
unsigned mp_unwind(const struct mp_frame *from, uint64_t pc[MP_UNWIND_MAX], uint32_t generation,
                   enum mpf_cut *cut);
/* Returns the hash of these addresses without storing them, because the stack may be small. */
struct mp_hash mp_unwind_hash(const struct mp_frame *from, uint32_t generation);

/* ---- its parts */

/* The words of a stack. */
struct mp_bounds {
    uintptr_t low, bytes;
};

/* The words that a step has read. The same words and registers lead to the same frame. */
enum { MP_READS_MAX = 3 };
struct mp_read {
    const uintptr_t *at;
    uintptr_t word;
};
struct mp_reads {
    struct mp_read read[MP_READS_MAX];
    unsigned count;
};

/* Finds the bounds of the frame's stack. Returns false if it is not on a known stack. */
bool mp_unwind_bounds(uintptr_t sp, struct mp_bounds *out);

/* Moves to the caller of a function that made a call.
 *   MP_STEP_ROOT: the thread began in this function.
 *   MP_STEP_NO_RULE: there is no rule for finding the caller.
 *   MP_STEP_FAILED: the caller is not where the rule requires.
 *   MP_STEP_SIGNAL: the kernel called it. */
enum mp_step { MP_STEP_MADE, MP_STEP_ROOT, MP_STEP_NO_RULE, MP_STEP_FAILED, MP_STEP_SIGNAL };
enum mp_step mp_unwind_step(struct mp_frame *f, struct mp_bounds b, uint32_t generation,
                            struct mp_reads *reads);

#endif
