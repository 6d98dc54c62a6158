/* The calling thread's stack, by call frame information (cfi.h), whatever the program was built with: some 5 ns a frame,
 * because the rule of an address is looked up once. */
#ifndef MP_UNWINDER_H
#define MP_UNWINDER_H

#include <stdbool.h>
#include <stdint.h>

/* Once, where dlsym may be called.  False: no stacks on this system. */
bool mp_unwind_init(void);
/* Return addresses from the innermost, this call's own; the number of them, at most max.  `generation` is mp_module_now().
 * In any context of the program: takes no lock but a short one of memprof, reads nothing but the stack that the thread is on. */
unsigned mp_unwind(uint64_t *pc, unsigned max, uint32_t generation);

#endif
