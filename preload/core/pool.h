/* Chunks of the journal, and who has them.
 *
 * Free chunks wait in a queue; a thread's chunks are a list from its oldest that is not in the log
 * yet to the one that it fills.  Taking and giving back work in any context.  Places are pages of
 * the journal file as long as that can grow, then anonymous memory (more threads than it may hold,
 * a full disk): what lies there does not survive SIGKILL. */
#ifndef MP_POOL_H
#define MP_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/chunk.h"

/* A chunk for a thread, or NULL when there is none now.  `number` is the thread's. */
struct mpf_chunk *mp_pool_take(uint32_t number);
/* Why there is none: enum mpf_loss. */
unsigned mp_pool_why(void);
void mp_pool_give(uint32_t index);
/* Somebody is about to wait until chunks come back; `seen` is pool.released from before the failed
 * take. */
void mp_pool_want(uint32_t seen);
/* Does somebody wait, and nothing came back since? */
bool mp_pool_wanted(void);
/* Waits a little until chunks may have come back; false: there is no patience left. */
bool mp_pool_wait(uint32_t seen, struct mp_patience *patience);

/* Returns true if enough full chunks for a frame wait to be encoded, or if a thread waits for a
 * chunk (a small pool, or one that many threads share, never has that many full ones).  @records:
 * threads' records in use, each with one chunk that is still being filled. */
bool mp_pool_has_frame(uint32_t records);
/* Returns true if threads wait for chunks or soon will, so that chunks of ended threads are needed.
 */
bool mp_pool_is_short(void);

#endif
