/* The encoders: memprof's threads that move the events of the program's threads into the log.
 *
 * The first one works every 100 ms, or when it is woken, and takes the samples. It starts when a
 * first chunk is full, or a first large block or mapping is allocated. In a process of several
 * threads, the worker starts it when the process is 100 ms old. (The second thread has created the
 * worker.) Other processes are encoded at their end. A process of one thread that allocates little
 * gets no other thread, because it may depend on that (a sandbox). Once a thread of the program had
 * to wait for a chunk, a second encoder helps whenever the first one is too slow. With eight
 * processors or more there may be a third and a fourth. All share the worker's descriptor table. */
#ifndef MP_ENCODER_H
#define MP_ENCODER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/sys.h"

/* Returns true if the first encoder should be started now: none was started yet and there is work
 * for one, or `now` is set. Returns false in a child of a raw fork, which may end by a raw exit of
 * its only thread. */
bool mp_encoder_due(bool now);
/* Lets the worker start it, without waiting. */
void mp_encoder_start(void);
/* Starts the worker, which starts the encoder if the process lives long enough. Blocks signals
 * itself; needs a stack of some KiB. */
void mp_encoder_start_later(void);
/* Returns true if the worker should start the encoder: it is due, or the process has lived for
 * about 100 ms. */
bool mp_encoder_overdue(void);
/* The same as mp_encoder_start, on the worker, which holds its lock. */
void mp_encoder_start_by_worker(void);
/* Returns true while the first encoder is starting or running. */
bool mp_encoder_runs(void);
/* Starts it and waits for that, before a call after which the process cannot create threads. */
void mp_encoder_start_now(void);
/* Called if the worker could not start it. The next event that finds it due tries again. */
void mp_encoder_not_started(void);
/* Returns true if every thread of the program has ended by itself, the main one first, so that only
 * memprof's threads keep the process alive. */
bool mp_encoder_is_alone(void);
/* Ends all encoders and waits for that. Returns true if the first one ran. It may be started
 * again. */
bool mp_encoder_stop(void);
/* Wakes the encoders because there is work. */
void mp_encoder_wake(void);
/* Called by a thread that found the pool empty when pool.released was `seen`: waits a short time
 * for the encoder, or lets the worker write a frame. Returns false if the time limit is over. */
bool mp_encoder_relieve(uint32_t seen, struct mp_patience *patience);
/* Returns the number of encoders that are starting or running. */
unsigned mp_encoders(void);

#endif
