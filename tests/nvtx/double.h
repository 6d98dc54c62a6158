/* A stand-in for memprof's recorder that appends events to an array. */
#ifndef NVTX_TEST_DOUBLE_H
#define NVTX_TEST_DOUBLE_H

#include <stddef.h>
#include <stdint.h>

enum { DOUBLE_EVENTS = 1 << 18, DOUBLE_TEXT = 1100 };

struct double_event {
    unsigned op;
    int tid;
    uint64_t addr, size;
    char data[DOUBLE_TEXT]; /* the first bytes, terminated by 0 */
};

void double_reset(void);
/* Return the number of events of the operation so far, and the last of them (NULL if none). */
size_t double_count(unsigned op);
const struct double_event *double_last(unsigned op);
const struct double_event *double_at(size_t index);
size_t double_total(void);
/* Returns the number under which a name or domain was recorded, or 0 if it was not. */
uint32_t double_id(unsigned op, const char *text);

extern uint64_t double_lost;           /* counted by mp_loss(MPF_LOSS_NAMES) */
extern int double_active;              /* the result of mp_active */
extern __thread uint32_t double_guard; /* if not 0, nothing is recorded */

#endif
