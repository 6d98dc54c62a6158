/* The encoder thread: every 100 ms, or when woken, it moves what the threads stored into the log,
 * and samples.
 *
 * It starts when a first chunk is full or a first large block is made; smaller processes encode at
 * exit.  It blocks all signals, has a descriptor table of its own, and is never waited for longer
 * than a second by the program. Once a thread of the program had to wait for it, a second one helps
 * it whenever it falls behind. */
#ifndef MP_ENCODER_H
#define MP_ENCODER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/sys.h"

/* Has the time come for it, or for its helper (`now`: whatever the number of events)?  Never in a
 * child that fork(3)'s handlers did not see. */
bool mp_encoder_due(bool now);
/* Starts the one that is due.  Only where the caller holds no lock that pthread_create takes; does
 * nothing in a vfork child. */
void mp_encoder_start(void);
/* Called by a thread that is about to leave.  When it is the main one, a thread of ours stays
 * behind it that has the program's descriptors, and leaves as the last of all: there the C library
 * calls exit, which writes what the program has buffered. */
void mp_encoder_outlive_main(void);
/* Does its work once a period on the calling thread, where none runs: in a program whose
 * allocations are not seen there is no moment at which a thread may be started. */
void mp_encoder_stand_in(void);
/* There is work. */
void mp_encoder_wake(void);
/* The pool was empty when pool.released was `seen`: waits for the encoder a little, or does its
 * work where there is none. False: there is no patience left. */
bool mp_encoder_relieve(uint32_t seen, struct mp_patience *patience);
/* Has the program no thread but the calling one?  Only where no lock of the encoder's start is
 * held. */
bool mp_encoder_alone(void);
/* Everything recorded so far and an END frame go to the log before this returns.  False: not within
 * 10 s. */
bool mp_encoder_finish(const char *reason);

#endif
