/* Call stacks of the program's threads, interned: each is recorded once (STACK, and MODULE for the
 * object files in it). */
#ifndef MP_STACK_H
#define MP_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "stacks/unwinder.h"

/* Called once, where the loader's lock may be taken. Returns false if the system has no stacks. */
bool mp_stack_init(void);
/* Forgets what is recorded: in a forked child, single-threaded. */
void mp_stack_reset(void);
/* The id of the calling thread's stack from one of its frames on, which is in the log then; 0: none
 * can be had.  In any context of the program. */
uint64_t mp_stack_here(const struct mp_frame *from);
/* The same if an event of this kind is to have a stack (MEMPROF_STACKS), else 0. */
uint64_t mp_stack_of(unsigned op, unsigned heap, uint64_t size, const struct mp_frame *from);
/* Draws whether a block that every byte had the same chance to name has a stack: with probability 1
 * - exp(-bytes / mean). */
bool mp_stack_sampled(uint64_t bytes);
/* Is this a block of malloc where a sample of them is recorded?  These have both stacks. */
bool mp_stack_of_sample(unsigned op, unsigned heap);
/* Is this a large host block's event, or a failure?  These have a Python stack too. */
bool mp_stack_large(unsigned op, unsigned heap, uint64_t size);

#endif
