/* A trace as Perfetto reads it (TracePacket, by its own .proto files), of one or more processes: a
 * counter for each heap and for what the kernel and the driver say, ranges as slices of their
 * threads, graphs, failures and marks as instants.  Times are those of the clock. */
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
    struct mpr_blob packet, data, inside, deepest; /* each a message in the one before it */
    struct mpr_arena arena;
    struct mpr_index name; /* of slices, by hash: interned, number + 1 */
    const char **text;     /* by number */
    uint32_t names, name_cap;
    struct mpr_index track;              /* of threads and their domains: what is told already */
    uint64_t process;                    /* from 1, in order of mpr_perfetto_process */
    struct mpr_index pids;               /* that a process of the trace has */
    uint64_t pid, start_ns;              /* pid: the trace's for it */
    uint32_t made;                       /* numbers of processes and threads that are no system's */
    const struct mpr_timeline *timeline; /* of that one */
};

void mpr_perfetto_begin(struct mpr_perfetto *p, FILE *out);
/* Its counters and instants; turns from now on are its own, until the timeline goes. */
void mpr_perfetto_process(struct mpr_perfetto *p, const struct mpr_timeline *timeline);
void mpr_perfetto_turn(struct mpr_perfetto *p, const struct mpr_range_turn *turn);
void mpr_perfetto_free(struct mpr_perfetto *p);

#endif
