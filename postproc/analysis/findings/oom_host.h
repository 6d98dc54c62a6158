/* Host memory that ran out: allocations that failed, a process that was killed, and the growth
 * before.  Private to this layer; the result is in ooms.h. */
#ifndef MPR_HOST_H
#define MPR_HOST_H

#include "ooms.h"
#include "reader.h"

/* Allocations that fail while a log is replayed, grouped by place, thread and error.  A failed
 * request is pending until its thread allocates again, because the thread may get the bytes in
 * another way. */
struct mpr_refusals {
    struct mpr_refusal {
        uint64_t count, largest, time;
        uint32_t node, thread, error;
        struct mpr_site at;
        uint8_t heap;
    } kind[32];
    size_t kinds;
    uint64_t count;
    /* A refusal, and the limits of the sample before it.  If none of these was in the way, they are
     * the limits of the sample after it, because the program may have set them in between. */
    struct mpr_limited {
        struct mpr_refusal refusal; /* count 0: none */
        struct mpr_reading limits;
        struct mpr_rlimit limit; /* that was in the way */
        bool awaits_sample;
    } newest, pending;
    uint64_t measured; /* live bytes of host memory when the address space was measured */
};
/* Sees an event of the replay. */
void mpr_refusals_see(struct mpr_refusals *refusals, const struct mpr_replay *r,
                      const struct mpr_thread *t, const struct mpf_event *e);
/* Counts the pending request, which has failed.  Call it after the last event, before any other
 * use.
 */
void mpr_refusals_settle(struct mpr_refusals *refusals);
struct mpr_refused_request mpr_refusals_newest(const struct mpr_refusals *refusals,
                                               struct mpr_arena *arena,
                                               const struct mpr_reader *reader);

/* Returns true if there is anything to report, after the first replay.  The report ends with the
 * newest refusal if the process was refused memory and not killed. */
bool mpr_host_look(struct mpr_host_oom *s, const struct mpr_summary *summary,
                   const struct mpr_replay *r, const struct mpr_refusals *refusals);

/* The state at the end of the report, taken in the second replay.  The caller frees `held`. */
struct mpr_host_end {
    uint64_t at; /* ns; UINT64_MAX: after the last event */
    bool taken;
    struct mpr_cell_totals *held; /* by cell */
    uint32_t cells;
    uint64_t bytes; /* of host memory */
    struct mpr_reading rss, cgroup;
};
/* Sees an event of the second replay (struct mpr_watch).  @end: a struct mpr_host_end */
void mpr_host_end_see(void *end, const struct mpr_replay *r, const struct mpr_thread *t,
                      const struct mpf_event *e);

/* Call it after a second replay whose instant is s->mark. */
void mpr_host_fill(struct mpr_host_oom *s, struct mpr_arena *arena, const struct mpr_reader *reader,
                   const struct mpr_refusals *refusals, struct mpr_host_end *end);

#endif
