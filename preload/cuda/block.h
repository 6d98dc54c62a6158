/* Events of the driver's blocks, shared by the handlers of allocations and frees. */
#ifndef MP_BLOCK_H
#define MP_BLOCK_H

#include <stddef.h>

#include "cuda/call.h"
#include "mpf/event.h"

/* Called when a call that allocates a block of `bytes` at *at has returned: records the block with
 * the call stack, or the failure. @heap: an enum mpf_heap; for a GPU, that of the thread's current
 * device. */
void mp_block_made(const struct mp_call *call, enum mpf_heap heap, const void *at, size_t bytes);
/* Called at the entry and at the return of a call that frees the block at `at` (0: none). */
void mp_block_freed(const struct mp_call *call, enum mpf_heap heap, uint64_t at);
/* Records that the driver refused `bytes` of memory. @probe: the kind of memory is not supported,
 * so memory is not exhausted. */
void mp_block_refused(const struct mp_call *call, unsigned heap, size_t bytes, bool probe);
/* Gives the thread's next event the current call stack. */
void mp_block_stack(void);

#endif
