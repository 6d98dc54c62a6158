/* Events of the driver's blocks: what the handlers of allocations and frees share. */
#ifndef MP_BLOCK_H
#define MP_BLOCK_H

#include <stddef.h>

#include "cuda/call.h"
#include "mpf/event.h"

/* A call returned that makes a block of `bytes` at *at: records it with the call stack, or its
 * failure.  heap is an enum mpf_heap; a GPU's is that of the thread's current device. */
void mp_block_made(const struct mp_call *call, enum mpf_heap heap, const void *at, size_t bytes);
/* At the entry and at the return of a call that frees the block at `at` (0: nothing). */
void mp_block_freed(const struct mp_call *call, enum mpf_heap heap, uint64_t at);
/* Records that the driver refused `bytes` of memory. @probe: the kind of memory is not supported,
 * so memory is not exhausted. */
void mp_block_refused(const struct mp_call *call, unsigned heap, size_t bytes, bool probe);
/* The event that the thread records next happens here. */
void mp_block_stack(void);

#endif
