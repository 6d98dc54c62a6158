/* One replay that gets events a millisecond apart, shared by the tests of replay. */
#ifndef REPLAY_TEST_H
#define REPLAY_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "replay.h"

extern struct mpr_replay replay;
extern uint64_t now; /* ns, of the newest event */

void begin_with(struct mpr_replay_options options);
void begin(void); /* replays by range, at the peak */
/* Adds an event so long after the previous one that they cannot be out of order. */
void event(uint32_t thread, unsigned op, unsigned heap, uint64_t addr, uint64_t size);
void data(uint32_t thread, unsigned op, unsigned heap, uint64_t addr, const void *bytes,
          size_t count);
void event_at(uint64_t time, uint32_t thread, unsigned op, unsigned heap, uint64_t addr,
              uint64_t size);
/* Ends the log, and checks that the cells of every heap sum up to its peak. */
void end(void);
void end_replay(void); /* Does the same and frees the replay. */

static inline const struct mpr_heap *heap(unsigned code) { return &replay.accounts.heap[code]; }

#define H MPF_HEAP_HOST
#define M MPF_HEAP_MMAP

/* pick(n) returns a number below n, from a sequence that the seed defines. */
void pick_from(uint64_t seed);
unsigned pick(unsigned n);

#endif
