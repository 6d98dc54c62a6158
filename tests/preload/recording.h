/* Records in a separate process, because a process can record only once, and reads the log. */
#ifndef RECORDING_H
#define RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "core/process.h"

enum { THREADS = 4 }; /* threads whose order of events is checked */

struct log_counts {
    uint64_t op[256];
    uint64_t bytes;                 /* of blocks */
    uint64_t lost[MP_LOSSES];       /* as reported by LOST events */
    uint64_t lost_total;            /* as reported by END */
    struct mpf_unwritten unwritten; /* of the last UNWRITTEN event, or of END */
    uint64_t last_time;
    uint64_t after_sample; /* number of blocks after the last SAMPLE_RSS */
    /* Next expected number of each thread, whose blocks have the sizes 1, 2, 3, ... */
    uint64_t step[THREADS];
    bool in_order, in_thread_order, ended;
};

/* Runs f in a child that records, and reads its log. Fails if an event was lost. */
struct log_counts recorded(void (*f)(void));
/* The same, but events may be lost, which the log must report. */
struct log_counts recorded_with_losses(void (*f)(void));
/* Runs f in a child whose log has no end, so that its journal is kept. */
void recorded_without_end(void (*f)(void));

#endif
