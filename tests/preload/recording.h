/* A recording and what its log holds: a process of its own for each, since a process records once.
 */
#ifndef RECORDING_H
#define RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "core/process.h"

enum { THREADS = 4 }; /* whose order is looked at */

struct books {
    uint64_t op[256];
    uint64_t bytes;                 /* of blocks */
    uint64_t lost[MP_LOSSES];       /* by LOST events */
    uint64_t lost_total;            /* by END */
    struct mpf_unwritten unwritten; /* of the last UNWRITTEN event, or of END */
    uint64_t last_time;
    uint64_t after_sample;  /* blocks after the last SAMPLE_RSS */
    uint64_t step[THREADS]; /* next number expected of each thread: its blocks carry 1, 2, 3, ... as
                               size */
    bool in_order, in_thread_order, ended;
};

/* Runs f in a child that records, and reads its log.  Nothing may be lost. */
struct books recorded(void (*f)(void));
/* The same, and the log says what is lost. */
struct books recorded_with_losses(void (*f)(void));
/* Runs f in a child whose log gets no end: its journal stays. */
void recorded_without_end(void (*f)(void));

#endif
