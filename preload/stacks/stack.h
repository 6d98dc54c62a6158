/* Call stacks of the program's threads, interned: each is recorded once (STACK, and MODULE for the
 * object files in it). */
#ifndef MP_STACK_H
#define MP_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "stacks/unwinder.h"

/* Called once, when the loader's lock may be taken. Returns false if call stacks are not possible
 * on this system. */
bool mp_stack_init(void);
/* Forgets which stacks are recorded. Called in a forked child, which has one thread. */
void mp_stack_reset(void);
/* Returns the ID of the calling thread's stack from one of its frames on, after recording it if
 * necessary, or 0 if that is not possible. Any context of the program. */
uint64_t mp_stack_here(const struct mp_frame *from);
/* The same if an event of this kind gets a stack (MEMPROF_STACKS), otherwise 0. */
uint64_t mp_stack_of(unsigned op, unsigned heap, uint64_t size, bool sampled,
                     const struct mp_frame *from);
/* Returns false if an event of this kind gets no stack. */
bool mp_stack_is_wanted(unsigned op, unsigned heap, uint64_t size, bool sampled);
/* Returns true for the event of a large host block or a failure, which also has a Python stack. */
bool mp_stack_large(unsigned op, unsigned heap, uint64_t size);

#endif
