/* Call stacks of the program's threads, interned: each is recorded once (STACK, and MODULE for the object files in it).
 *
 * The parent's are not those of a forked child's log, but a child of a process with CUDA cannot use CUDA. */
#ifndef MP_STACK_H
#define MP_STACK_H

#include <stdbool.h>
#include <stdint.h>

/* Loads the unwinder (libgcc_s).  Called once, where the loader's lock may be taken.  False: no stacks. */
bool mp_stack_init(void);
/* The id of the calling thread's stack, which is in the log then; 0: none can be had.  Not in signal handlers.  Takes
 * about 1 us and some 50 ns a frame. */
uint64_t mp_stack_here(void);

#endif
