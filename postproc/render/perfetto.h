/* A trace for Perfetto (a sequence of TracePacket) of one or more processes.  Heaps and readings of
 * the kernel and the driver are counters, ranges are slices of their threads, and graphs, failures
 * and marks are instants.  Times are CLOCK_REALTIME. */
#ifndef MPR_PERFETTO_H
#define MPR_PERFETTO_H

#include <stdbool.h>
#include <stdio.h>

#include "arena.h"
#include "blob.h"
#include "index.h"

struct mpr_range_turn;
struct mpr_timeline;

struct mpr_perfetto {
    FILE *out;
    struct mpr_blob packet, data, inside, deepest; /* each is a message in the one before it */
    struct mpr_arena arena;
    struct mpr_index name; /* of slices, by hash: number + 1 */
    const char **text;     /* by number */
    uint32_t names, name_cap;
    struct mpr_index track; /* described tracks of threads and domains */
    struct mpr_index pids;  /* pids that the trace uses */
    uint32_t invented;      /* how many numbers of processes and threads are invented */
    const struct mpr_timeline *timeline; /* the current process's */
    uint64_t process;                    /* its number, from 1 */
    uint64_t pid, start_ns;              /* its pid in the trace */
};

void mpr_perfetto_begin(struct mpr_perfetto *p, FILE *out);
/* Begins a process: writes its counters and instants.  The turns that follow are its ranges; the
 * timeline must exist until the last one. */
void mpr_perfetto_process(struct mpr_perfetto *p, const struct mpr_timeline *timeline);
void mpr_perfetto_turn(struct mpr_perfetto *p, const struct mpr_range_turn *turn);
void mpr_perfetto_free(struct mpr_perfetto *p);

#endif
