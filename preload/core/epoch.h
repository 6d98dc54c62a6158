/* One epoch: events that threads have stored up to a watermark become frames of the log.
 *
 * Called by the encoder threads, each with its writer, or by the program's thread with the first
 * writer if there is no encoder: at exit, before exec, or when the pool is empty and no thread may
 * be started. Not called in signal handlers that interrupted it: it holds the writer's lock with
 * signals blocked. */
#ifndef MP_EPOCH_H
#define MP_EPOCH_H

#include <stdbool.h>
#include <stdint.h>

#include "core/state.h"

/* Maximum number of events in one frame, so small that the encoder's tables stay in the cache of
 * one core. */
#define MP_FRAME_EVENTS 49152u
/* The same until a frame was full, and while memory is short or limited (RLIMIT_AS, RLIMIT_DATA): a
 * writer needs 20 MiB of addresses for large frames, 1 MiB for small ones. */
#define MP_FRAME_EVENTS_SMALL 2048u

/* Maps the memory for frames if possible, so that later limits do not matter. Otherwise each frame
 * tries it again. */
void mp_epoch_prepare(void);
/* Writes one frame with events older than a small margin. Returns true if there are more. Writes
 * nothing after END, which must be the last frame. */
bool mp_epoch_run(unsigned writer);
/* Returns that margin in ticks. */
uint64_t mp_epoch_margin(void);
/* Writes all committed events, and then the END frame. Returns false if another thread hangs in a
 * write. */
bool mp_epoch_end(const char *reason);
/* Between these two calls no frame is written, and signals are blocked. The result of the first is
 * passed to the second. If it is not `all`, another thread hangs in a write. */
struct mp_held {
    uint64_t signals[MP_WRITERS];
    bool complete;
};
struct mp_held mp_epoch_hold(void);
void mp_epoch_release(struct mp_held held);
/* Adds one of memprof's own events (sample, loss) to the current epoch: at most 128 bytes of data.
 * Under epoch_lock. */
void mp_epoch_note(unsigned op, uint64_t addr, const void *data, uint64_t size);
/* Returns the resident bytes of the epoch's own memory, at most. */
uint64_t mp_epoch_resident(void);

#endif
