#include "oom_host.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "alloc.h"
#include "amount.h"
#include "cell_totals.h"
#include "growth.h"
#include "labels.h"
#include "mpf/sample.h"
#include "reading.h"

static uint64_t live_bytes(const struct mpr_replay *r)
{
    uint64_t bytes = 0;
    for (int i = MPF_HEAP_HOST; i <= MPF_HEAP_SHM; i++) bytes += r->accounts.heap[i].bytes;
    return bytes;
}

static struct mpr_reading sample_now(const struct mpr_replay *r, enum mpr_source source)
{
    return mpr_reading_of(&r->samples.source[source].now);
}

/* ---- refusals */

static void take_limits(const struct mpr_refusals *refusals, struct mpr_limited *l,
                        const struct mpr_replay *r)
{
    l->limits = sample_now(r, MPR_SOURCE_RSS);
    l->limit = mpr_reading_rlimit(&l->limits, l->refusal.largest,
                                  mpr_saturating_sub(live_bytes(r), refusals->measured));
}

/* Few samples have the size of the address space, so live bytes made since the last of these count
 * until the next one. */
static void see_sample(struct mpr_refusals *refusals, const struct mpr_replay *r)
{
    struct mpr_limited *const limited[] = { &refusals->newest, &refusals->pending };
    const struct mpr_reading rss = sample_now(r, MPR_SOURCE_RSS);
    if (mpr_reading_newest(&rss, MPF_RSS_VM_SIZE) != MPF_UNKNOWN)
        refusals->measured = live_bytes(r);
    for (size_t i = 0; i < 2; i++) {
        if (limited[i]->awaits_sample && !limited[i]->limit.name)
            take_limits(refusals, limited[i], r);
        limited[i]->awaits_sample = false;
    }
}

/* A refusal that is of none of the kinds is only counted if there are too many kinds. */
void mpr_refusals_settle(struct mpr_refusals *refusals)
{
    const struct mpr_refusal new = refusals->pending.refusal;
    struct mpr_refusal *k = refusals->kind, *end = k + refusals->kinds;
    if (!new.count) return;
    refusals->newest = refusals->pending;
    refusals->pending = (struct mpr_limited){ 0 };
    refusals->count++;
    while (k < end &&
           (k->node != new.node || k->thread != new.thread || k->error != new.error ||
            k->heap != new.heap || k->at.stack != new.at.stack || k->at.python != new.at.python))
        k++;
    if (k < end) {
        k->count++;
        k->time = new.time;
        if (new.largest > k->largest) k->largest = new.largest;
    } else if (refusals->kinds < sizeof refusals->kind / sizeof *refusals->kind)
        refusals->kind[refusals->kinds++] = new;
}

/* The kernel also refuses mappings for their arguments, addresses that are taken, and huge pages
 * that its pool does not have.  An allocator has one reason, and need not set errno. */
static bool is_out_of_memory(const struct mpf_event *e)
{
    const uint32_t error = (uint32_t)e->addr;
    if (e->op != MPF_OP_FAIL || !mpf_heap_is_host(e->heap) || e->addr & MPF_FAIL_HUGE_PAGES)
        return false;
    return e->heap == MPF_HEAP_HOST || error == ENOMEM || error == EAGAIN || error == ENOSPC;
}

static bool allocates(const struct mpf_event *e)
{
    return (e->op == MPF_OP_ALLOC && mpf_heap_is_host(e->heap)) || e->op == MPF_OP_MAP ||
           e->op == MPF_OP_RESERVE || e->op == MPF_OP_REMAP_TO;
}

void mpr_refusals_see(struct mpr_refusals *refusals, const struct mpr_replay *r,
                      const struct mpr_thread *t, const struct mpf_event *e)
{
    /* A request for huge pages is rounded up by at most this part, and repeated without the
     * rounding.  Logs before 1.11 do not have the bytes that were asked for. */
    enum { ROUNDED_BY = 8 };
    const struct mpr_refusal *pending = &refusals->pending.refusal;
    if (e->op == MPF_OP_SAMPLE_RSS) see_sample(refusals, r);
    if (pending->count && allocates(e) && t->number == pending->thread) {
        if (e->size >= pending->largest - pending->largest / ROUNDED_BY)
            refusals->pending = (struct mpr_limited){ 0 };
        else mpr_refusals_settle(refusals);
    }
    if (!is_out_of_memory(e)) return;
    mpr_refusals_settle(refusals);
    refusals->pending.refusal = (struct mpr_refusal){ .count = 1,
                                                      .largest = mpf_fail_bytes(e->addr, e->size),
                                                      .time = r->now,
                                                      .node = t->node,
                                                      .thread = t->number,
                                                      .error = (uint32_t)e->addr,
                                                      .at = t->at,
                                                      .heap = e->heap };
    take_limits(refusals, &refusals->pending, r);
    refusals->pending.awaits_sample = true;
}

static struct mpr_refused_request request_of(struct mpr_arena *arena,
                                             const struct mpr_reader *reader,
                                             const struct mpr_refusal *r)
{
    return (struct mpr_refused_request){ .count = r->count,
                                         .time = r->time,
                                         .bytes = r->largest,
                                         .error = r->error,
                                         .heap = r->heap,
                                         .thread =
                                             mpr_label_thread(arena, &reader->replay, r->thread),
                                         .path = mpr_label_best(arena, reader, r->node, r->at) };
}

struct mpr_refused_request mpr_refusals_newest(const struct mpr_refusals *refusals,
                                               struct mpr_arena *arena,
                                               const struct mpr_reader *reader)
{
    struct mpr_refused_request newest = { .count = refusals->count };
    if (!newest.count) return newest;
    newest = request_of(arena, reader, &refusals->newest.refusal);
    newest.count = refusals->count;
    newest.limit = refusals->newest.limit;
    return newest;
}

/* ---- after the first replay */

/* Returns true if the process may have been killed because memory ran out.  A fault of the program
 * (SIGSEGV, SIGABRT) is another reason, and so is a signal that asks it to end, which a parent
 * sends when another child was killed. */
static bool was_killed(const struct mpr_summary *s, bool full)
{
    const int sig = s->fate_status;
    const bool asked_to_end = sig == SIGTERM || sig == SIGINT || sig == SIGHUP;
    if (s->fate == MPR_FATE_UNKNOWN || s->oom != MPR_FATE_NO_OOM) return true;
    return s->fate == MPR_FATE_SIGNAL && (sig == SIGKILL || (full && !asked_to_end));
}

bool mpr_host_look(struct mpr_host_oom *s, const struct mpr_summary *summary,
                   const struct mpr_replay *r, const struct mpr_refusals *refusals)
{
    /* Growth is that of the last minute, or of the second half of a shorter run. */
    const uint64_t last_ns = UINT64_C(60000000000), *cgroup = s->cgroup.value;
    *s = (struct mpr_host_oom){ .end = summary->duration_ns,
                                .failures = refusals->count,
                                .cgroup = sample_now(r, MPR_SOURCE_CGROUP),
                                .rss = sample_now(r, MPR_SOURCE_RSS) };
    /* The cgroup's memory is within a twentieth of its limit. */
    s->full = s->cgroup.valid && cgroup[MPF_CGROUP_LIMIT] != MPF_UNKNOWN &&
              cgroup[MPF_CGROUP_USAGE] != MPF_UNKNOWN &&
              cgroup[MPF_CGROUP_USAGE] >= cgroup[MPF_CGROUP_LIMIT] / 100 * 95;
    s->killed = was_killed(summary, s->full);
    s->refused = s->failures && !s->killed;
    if (s->refused) s->end = refusals->newest.refusal.time;
    s->mark = s->end > 2 * last_ns ? s->end - last_ns : s->end / 2;
    s->told = s->killed || s->full || s->failures;
    return s->told;
}

/* ---- the second replay */

static void take_end(struct mpr_host_end *end, const struct mpr_replay *r)
{
    *end = (struct mpr_host_end){ .at = end->at,
                                  .taken = true,
                                  .held = mpr_cell_totals_host(r),
                                  .cells = r->accounts.cells,
                                  .bytes = live_bytes(r),
                                  .rss = sample_now(r, MPR_SOURCE_RSS),
                                  .cgroup = sample_now(r, MPR_SOURCE_CGROUP) };
}

void mpr_host_end_see(void *arg, const struct mpr_replay *r, const struct mpr_thread *t,
                      const struct mpf_event *e)
{
    struct mpr_host_end *end = arg;
    (void)t;
    if (!end->taken && e->op == MPF_OP_FAIL && mpf_heap_is_host(e->heap) && r->now >= end->at)
        take_end(end, r);
}

void mpr_host_fill(struct mpr_host_oom *s, struct mpr_arena *arena, const struct mpr_reader *reader,
                   const struct mpr_refusals *refusals, struct mpr_host_end *end)
{
    const struct mpr_replay *r = &reader->replay;
    const struct mpr_accounts *accounts = &r->accounts;
    const struct mpr_sample_track *track = &r->samples.source[MPR_SOURCE_RSS];
    struct mpr_growth *growth = &s->growth;
    if (!end->taken) take_end(end, r);
    s->newest = mpr_refusals_newest(refusals, arena, reader);
    s->rss = end->rss;
    s->cgroup = end->cgroup;
    s->limits = s->refused ? refusals->newest.limits : s->rss;
    s->refusal = mpr_arena_alloc(arena, (refusals->kinds + 1) * sizeof *s->refusal);
    for (size_t i = 0; i < refusals->kinds; i++)
        s->refusal[s->refusals++] = request_of(arena, reader, &refusals->kind[i]);
    struct mpr_cell_totals *held = mpr_cell_totals_host(r);
    growth->row = mpr_arena_alloc(arena, accounts->cells * sizeof *growth->row);
    for (uint32_t i = 0; i < accounts->cells; i++) {
        const struct mpr_cell *cell = &accounts->cell[i];
        if (mpf_heap_is_host(cell->heap))
            mpr_growth_add(growth, mpr_label_path(arena, reader, cell), held[i].bytes,
                           i < end->cells ? end->held[i].end_bytes : 0, held[i].estimated);
    }
    free(held);
    mpr_growth_end(growth);
    for (int i = MPF_HEAP_HOST; i <= MPF_HEAP_SHM; i++)
        growth->before += accounts->heap[i].peak_bytes;
    growth->after = end->bytes;
    growth->valid = true;
    growth->time = r->options.at.from;
    s->rss_then = mpr_reading_of(track->before[MPF_HEAP_HOST].valid ? &track->before[MPF_HEAP_HOST]
                                                                    : &track->after[MPF_HEAP_HOST]);
}
