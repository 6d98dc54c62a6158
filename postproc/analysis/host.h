/* The story of host memory: who was killed, or refused, and what grew before.  Private to this
 * layer; the result is in ooms_result.h. */
#ifndef MPR_HOST_H
#define MPR_HOST_H

#include "ooms_result.h"
#include "reader.h"

/* Failed allocations while a log is read, those alike together; a bounded number of kinds. */
struct mpr_refusals {
    struct mpr_refusal {
        uint64_t count, largest, time;
        uint32_t node, thread, error;
        struct mpr_site at;
        uint8_t heap;
    } kind[32];
    size_t kinds;
};
/* For each event of a watch. */
void mpr_refusals_see(struct mpr_refusals *refusals, const struct mpr_replay *r,
                      const struct mpr_thread *t, const struct mpf_event *e);

/* After the first reading, from the log's summary: is there a story? */
bool mpr_host_look(struct mpr_host_story *s, const struct mpr_summary *summary,
                   const struct mpr_replay *r);
/* After a second reading that was pinned at s->mark. */
void mpr_host_fill(struct mpr_host_story *s, struct mpr_arena *arena,
                   const struct mpr_reader *reader, const struct mpr_refusals *refusals);

#endif
