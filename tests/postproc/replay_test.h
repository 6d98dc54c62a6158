/* What the tests of replay share: one replay, fed event by event, a millisecond apart. */
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
extern uint64_t now; /* of the newest event, ns */

void begin_with(struct mpr_replay_options options);
void begin(void); /* by range, at the peak */
/* So far from the event before that nothing counts as seen in the wrong order. */
void event(uint32_t thread, unsigned op, unsigned heap, uint64_t addr, uint64_t size);
void data(uint32_t thread, unsigned op, unsigned heap, uint64_t addr, const void *bytes,
          size_t count);
void event_at(uint64_t time, uint32_t thread, unsigned op, unsigned heap, uint64_t addr,
              uint64_t size);
/* After the last event: the cells of every heap still sum up to its peak. */
void end(void);
void over(void); /* and frees the replay */

static inline const struct mpr_heap *heap(unsigned code) { return &replay.accounts.heap[code]; }

#define H MPF_HEAP_HOST
#define M MPF_HEAP_MMAP

/* A number below n, of those that the seed gives. */
void pick_from(uint64_t seed);
unsigned pick(unsigned n);

#endif
