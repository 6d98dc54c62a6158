/* Chunks of the journal, and their owners.
 *
 * Free chunks wait in a queue. A thread's chunks are a list from the oldest that is not in the log
 * yet to the one that it fills. Taking and returning work in any context. Places are pages of the
 * journal file while that can grow. Further places (for very many threads, or on a full disk) are
 * anonymous memory, which does not survive SIGKILL. */
#ifndef MP_POOL_H
#define MP_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/chunk.h"

/* Returns a chunk for a thread, or NULL if none is available now. @number: the thread's. */
struct mpf_chunk *mp_pool_take(uint32_t number);
/* Returns why none is available: enum mpf_loss. */
unsigned mp_pool_why(void);
void mp_pool_give(uint32_t index);
/* Announces that a thread will wait until chunks are returned. @seen: pool.released from before the
 * failed take. */
void mp_pool_want(uint32_t seen);
/* Returns true if a thread waits and no chunk was returned since. */
bool mp_pool_wanted(void);
/* Waits a short time for returned chunks. Returns false if the time limit is over. */
bool mp_pool_wait(uint32_t seen, struct mp_patience *patience);

/* Returns true if enough full chunks for a frame wait to be encoded, or if a thread waits for a
 * chunk (a small pool, or one that many threads share, never has that many full ones). @records:
 * number of thread records in use, each with one chunk that is still being filled. */
bool mp_pool_has_frame(uint32_t records);
/* Returns true if threads wait for chunks or soon will, so that chunks of ended threads are needed.
 */
bool mp_pool_is_short(void);

#endif
