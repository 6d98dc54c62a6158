/* The calling thread's stack, by call frame information (cfi.h), whatever the program was built with: some 5 ns a frame,
 * because the rule of an address is looked up once. */
#ifndef MP_UNWINDER_H
#define MP_UNWINDER_H

#include <stdbool.h>
#include <stdint.h>

/* Once, where dlsym may be called.  False: no stacks on this system. */
bool mp_unwind_init(void);
struct mp_frame { uintptr_t pc, rsp, rbp; };

/* Steps that a thread's walks have made: one from the same registers, that reads the same words, leads to the same caller.
 * All zero at first. */
enum { MP_STEPS = 512 };
struct mp_step {
    uint64_t key;               /* pc ^ generation above all addresses */
    uintptr_t rsp, rbp;
    uintptr_t rbp_at;           /* where the caller's rbp was read; 0: it is the same */
    struct mp_frame to;
} __attribute__((aligned(64)));

/* Return addresses from the innermost, this call's own; the number of them, at most max.  `steps` are MP_STEPS that nobody
 * else uses meanwhile, or NULL; `generation` is mp_module_now().  In any context of the program: takes no lock but a short one
 * of memprof, reads nothing but the stack that the thread is on. */
unsigned mp_unwind(struct mp_step *steps, uint64_t *pc, unsigned max, uint32_t generation);

#endif
