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
    uint64_t count;
    /* One refusal and the limits that held then: those of the sample before it.  If none of these
     * was in its way, those of the sample after it, because the program may have set them between
     * the two samples. */
    struct mpr_limited {
        struct mpr_refusal refusal; /* count 0: none */
        struct mpr_reading limits;
        struct mpr_rlimit limit; /* that was in its way */
        bool awaits;             /* the sample after it */
    } newest, pending; /* pending: its thread has not allocated since, so it may still get the
                          bytes in another way */
    uint64_t measured; /* live bytes of host memory when the address space was measured */
};
/* For each event of a watch. */
void mpr_refusals_see(struct mpr_refusals *refusals, const struct mpr_replay *r,
                      const struct mpr_thread *t, const struct mpf_event *e);
/* After the last event, before any other use: no thread can repeat its request any more. */
void mpr_refusals_end(struct mpr_refusals *refusals);
struct mpr_refused mpr_refusals_newest(const struct mpr_refusals *refusals, struct mpr_arena *arena,
                                       const struct mpr_reader *reader);

/* After the first reading, from the log's summary: is there a story?  That of who was refused
 * memory, and not killed, ends with the newest refusal. */
bool mpr_host_look(struct mpr_host_story *s, const struct mpr_summary *summary,
                   const struct mpr_replay *r, const struct mpr_refusals *refusals);

/* What there was when the story ended, taken in the second reading. */
struct mpr_host_end {
    uint64_t at; /* ns; UINT64_MAX: after the last event */
    bool taken;
    struct mpr_held *held; /* of the cells that there were then */
    uint32_t cells;
    uint64_t bytes; /* of host memory */
    struct mpr_reading rss, cgroup;
};
void mpr_host_end_see(struct mpr_host_end *end, const struct mpr_replay *r,
                      const struct mpf_event *e);
void mpr_host_end_free(struct mpr_host_end *end);

/* After a second reading that was pinned at s->mark; end: of that one. */
void mpr_host_fill(struct mpr_host_story *s, struct mpr_arena *arena,
                   const struct mpr_reader *reader, const struct mpr_refusals *refusals,
                   struct mpr_host_end *end);

#endif
