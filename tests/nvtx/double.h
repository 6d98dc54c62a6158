/* Stands for memprof's recorder: events go to an array, in the order in which they were recorded.
 */
#ifndef NVTX_TEST_DOUBLE_H
#define NVTX_TEST_DOUBLE_H

#include <stddef.h>
#include <stdint.h>

enum { DOUBLE_EVENTS = 1 << 18, DOUBLE_TEXT = 1100 };

struct double_event {
    unsigned op;
    int tid;
    uint64_t addr, size;
    char data[DOUBLE_TEXT]; /* the first bytes, ended with 0 */
};

void double_reset(void);
/* Number of events of the operation so far, and the last of them (NULL if none). */
size_t double_count(unsigned op);
const struct double_event *double_last(unsigned op);
const struct double_event *double_at(size_t index);
size_t double_total(void);
/* Number that a name or domain was recorded under; 0 when it was not. */
uint32_t double_id(unsigned op, const char *text);

extern uint64_t double_lost;           /* by mp_loss(MPF_LOSS_NAMES) */
extern int double_active;              /* mp_active's answer */
extern __thread uint32_t double_guard; /* not 0: nothing is recorded */

#endif
