#include "host.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "alloc.h"
#include "amount.h"
#include "growth.h"
#include "held.h"
#include "labels.h"
#include "mpf/sample.h"
#include "reading.h"

/* Growth is that of the last minute, of shorter runs of their second half */
#define LAST_NS UINT64_C(60000000000)

/* ---- refusals */

/* Without the bytes and the count of the refusal. */
static struct mpr_refusal *kind_of(struct mpr_refusals *refusals, const struct mpr_refusal *new)
{
    for (size_t i = 0; i < refusals->kinds; i++) {
        struct mpr_refusal *k = &refusals->kind[i];
        if (k->node == new->node && k->thread == new->thread && k->error == new->error &&
            k->heap == new->heap && k->at.stack == new->at.stack && k->at.python == new->at.python)
            return k;
    }
    if (refusals->kinds == sizeof refusals->kind / sizeof *refusals->kind) return NULL;
    struct mpr_refusal *kind = &refusals->kind[refusals->kinds++];
    *kind = *new;
    kind->count = kind->largest = 0;
    return kind;
}

static uint64_t live(const struct mpr_replay *r)
{
    uint64_t bytes = 0;
    for (int i = MPF_HEAP_HOST; i <= MPF_HEAP_SHM; i++) bytes += r->books.heap[i].bytes;
    return bytes;
}

/* The address space is in few samples: what a program that grows makes until the next one counts.
 */
static void see_sample(struct mpr_refusals *refusals, const struct mpr_replay *r)
{
    const struct mpr_reading rss = mpr_reading_of(&r->samples.source[MPR_SOURCE_RSS].now);
    if (mpr_reading_newest(&rss, MPF_RSS_VM_SIZE) != MPF_UNKNOWN) refusals->measured = live(r);
}

static void see_limits(const struct mpr_refusals *refusals, struct mpr_limited *l,
                       const struct mpr_replay *r)
{
    l->limits = mpr_reading_of(&r->samples.source[MPR_SOURCE_RSS].now);
    l->limit =
        mpr_reading_rlimit(&l->limits, l->refusal.largest, mpr_less(live(r), refusals->measured));
}

static void see_awaited(const struct mpr_refusals *refusals, struct mpr_limited *l,
                        const struct mpr_replay *r)
{
    if (!l->awaits) return;
    l->awaits = false;
    if (!l->limit.name) see_limits(refusals, l, r);
}

/* The kernel also refuses mappings for their arguments, addresses that are taken, and huge pages
 * that its pool does not have.  An allocator has one reason, and need not set errno. */
static bool is_for_memory(const struct mpf_event *e)
{
    const uint32_t error = (uint32_t)e->addr;
    if (e->addr & MPF_FAIL_HUGE_PAGES) return false;
    return e->heap == MPF_HEAP_HOST || error == ENOMEM || error == EAGAIN || error == ENOSPC;
}

static bool allocates(const struct mpf_event *e)
{
    return (e->op == MPF_OP_ALLOC && mpf_heap_is_host(e->heap)) || e->op == MPF_OP_MAP ||
           e->op == MPF_OP_RESERVE || e->op == MPF_OP_REMAP_TO;
}

/* A request for huge pages is rounded up to these, and repeated without the rounding.  Logs before
 * 1.11 do not say what was asked for. */
static bool is_as_large(uint64_t bytes, uint64_t refused)
{
    enum { ROUNDED_BY = 8 };
    return bytes >= refused - refused / ROUNDED_BY;
}

static void count_pending(struct mpr_refusals *refusals)
{
    const struct mpr_refusal new = refusals->pending.refusal;
    if (!new.count) return;
    refusals->newest = refusals->pending;
    refusals->pending = (struct mpr_limited){ 0 };
    refusals->count++;
    struct mpr_refusal *k = kind_of(refusals, &new);
    if (!k) return;
    k->count++;
    k->time = new.time;
    if (new.largest > k->largest) k->largest = new.largest;
}

static void see_failure(struct mpr_refusals *refusals, const struct mpr_replay *r,
                        const struct mpr_thread *t, const struct mpf_event *e)
{
    count_pending(refusals);
    struct mpr_limited *l = &refusals->pending;
    l->refusal = (struct mpr_refusal){ .count = 1,
                                       .largest = mpf_fail_bytes(e->addr, e->size),
                                       .time = r->now,
                                       .node = t->node,
                                       .thread = t->number,
                                       .error = (uint32_t)e->addr,
                                       .at = t->at,
                                       .heap = e->heap };
    see_limits(refusals, l, r);
    l->awaits = true;
}

void mpr_refusals_see(struct mpr_refusals *refusals, const struct mpr_replay *r,
                      const struct mpr_thread *t, const struct mpf_event *e)
{
    const struct mpr_refusal *pending = &refusals->pending.refusal;
    if (e->op == MPF_OP_SAMPLE_RSS) {
        see_sample(refusals, r);
        see_awaited(refusals, &refusals->newest, r);
        see_awaited(refusals, &refusals->pending, r);
    }
    if (pending->count && allocates(e) && t->number == pending->thread) {
        if (is_as_large(e->size, pending->largest)) refusals->pending = (struct mpr_limited){ 0 };
        else count_pending(refusals);
    }
    if (e->op == MPF_OP_FAIL && mpf_heap_is_host(e->heap) && is_for_memory(e))
        see_failure(refusals, r, t, e);
}

void mpr_refusals_end(struct mpr_refusals *refusals) { count_pending(refusals); }

static void fill_refusals(struct mpr_host_story *s, struct mpr_arena *arena,
                          const struct mpr_reader *reader, const struct mpr_refusals *refusals)
{
    const struct mpr_replay *r = &reader->replay;
    s->refusal = mpr_arena_alloc(arena, (refusals->kinds + 1) * sizeof *s->refusal);
    for (size_t i = 0; i < refusals->kinds; i++) {
        const struct mpr_refusal *k = &refusals->kind[i];
        struct mpr_host_refusal *out = &s->refusal[s->refusals++];
        *out = (struct mpr_host_refusal){ .count = k->count,
                                          .largest = k->largest,
                                          .time = k->time,
                                          .error = k->error,
                                          .heap = k->heap,
                                          .thread = mpr_label_thread(arena, r, k->thread) };
        out->path = mpr_label_best(arena, reader, k->node, k->at);
    }
}

struct mpr_refused mpr_refusals_newest(const struct mpr_refusals *refusals, struct mpr_arena *arena,
                                       const struct mpr_reader *reader)
{
    const struct mpr_refusal *newest = &refusals->newest.refusal;
    struct mpr_refused out = { .count = refusals->count,
                               .time = newest->time,
                               .bytes = newest->largest,
                               .error = newest->error,
                               .limit = refusals->newest.limit,
                               .heap = newest->heap };
    if (out.count) out.path = mpr_label_best(arena, reader, newest->node, newest->at);
    return out;
}

/* ---- is there a story? */

static uint64_t value(const struct mpr_reading *r, int i)
{
    return r->valid ? r->value[i] : MPF_UNKNOWN;
}

/* Within a twentieth of the limit. */
static bool is_full(const struct mpr_reading *cgroup)
{
    const uint64_t limit = value(cgroup, MPF_CGROUP_LIMIT), usage = value(cgroup, MPF_CGROUP_USAGE);
    return limit != MPF_UNKNOWN && usage != MPF_UNKNOWN && usage >= limit / 100 * 95;
}

static bool asks_to_end(int sig) { return sig == SIGTERM || sig == SIGINT || sig == SIGHUP; }

/* For want of memory: not by a signal of its own doing (SIGSEGV, SIGABRT), nor by one that asks it
 * to end, as a parent does whose other child was killed. */
static bool was_killed(const struct mpr_summary *s, bool full)
{
    if (s->fate == MPR_FATE_UNKNOWN || s->oom != MPR_FATE_NO_OOM) return true;
    return s->fate == MPR_FATE_SIGNAL &&
           (s->fate_status == SIGKILL || (full && !asks_to_end(s->fate_status)));
}

bool mpr_host_look(struct mpr_host_story *s, const struct mpr_summary *summary,
                   const struct mpr_replay *r, const struct mpr_refusals *refusals)
{
    *s = (struct mpr_host_story){ .end = summary->duration_ns, .failures = refusals->count };
    s->cgroup = mpr_reading_of(&r->samples.source[MPR_SOURCE_CGROUP].now);
    s->rss = mpr_reading_of(&r->samples.source[MPR_SOURCE_RSS].now);
    s->full = is_full(&s->cgroup);
    s->killed = was_killed(summary, s->full);
    s->refused = s->failures && !s->killed;
    if (s->refused) s->end = refusals->newest.refusal.time;
    s->mark = s->end > 2 * LAST_NS ? s->end - LAST_NS : s->end / 2;
    s->told = s->killed || s->full || s->failures;
    return s->told;
}

/* ---- when it ended */

static void take_end(struct mpr_host_end *end, const struct mpr_replay *r)
{
    *end = (struct mpr_host_end){
        .at = end->at,
        .taken = true,
        .held = mpr_held_host(r),
        .cells = r->books.cells,
        .rss = mpr_reading_of(&r->samples.source[MPR_SOURCE_RSS].now),
        .cgroup = mpr_reading_of(&r->samples.source[MPR_SOURCE_CGROUP].now),
    };
    for (int i = MPF_HEAP_HOST; i <= MPF_HEAP_SHM; i++) end->bytes += r->books.heap[i].bytes;
}

void mpr_host_end_see(struct mpr_host_end *end, const struct mpr_replay *r,
                      const struct mpf_event *e)
{
    if (!end->taken && e->op == MPF_OP_FAIL && mpf_heap_is_host(e->heap) && r->now >= end->at)
        take_end(end, r);
}

void mpr_host_end_free(struct mpr_host_end *end) { free(end->held); }

/* ---- growth */

static void fill_growth(struct mpr_growth *out, struct mpr_arena *arena,
                        const struct mpr_reader *reader, const struct mpr_host_end *end)
{
    const struct mpr_replay *r = &reader->replay;
    struct mpr_growth_builder b;
    const struct mpr_books *books = &r->books;
    struct mpr_held *held = mpr_held_host(r);
    mpr_growth_begin(&b, arena, books->cells);
    for (uint32_t i = 0; i < books->cells; i++) {
        const struct mpr_cell *cell = &books->cell[i];
        if (!mpf_heap_is_host(cell->heap)) continue;
        const struct mpr_path path = mpr_label_path(arena, reader, cell);
        mpr_growth_add(&b, path, held[i].then, i < end->cells ? end->held[i].now : 0,
                       held[i].estimated);
    }
    free(held);
    for (int i = MPF_HEAP_HOST; i <= MPF_HEAP_SHM; i++) out->before += books->heap[i].peak_bytes;
    out->after = end->bytes;
    mpr_growth_end(&b, out);
    out->valid = true;
    out->time = r->options.at.from;
}

static struct mpr_reading rss_at_mark(const struct mpr_track *t)
{
    return mpr_reading_of(t->before[MPF_HEAP_HOST].valid ? &t->before[MPF_HEAP_HOST]
                                                         : &t->after[MPF_HEAP_HOST]);
}

void mpr_host_fill(struct mpr_host_story *s, struct mpr_arena *arena,
                   const struct mpr_reader *reader, const struct mpr_refusals *refusals,
                   struct mpr_host_end *end)
{
    const struct mpr_replay *r = &reader->replay;
    if (!end->taken) take_end(end, r);
    s->newest = mpr_refusals_newest(refusals, arena, reader);
    s->rss = end->rss;
    s->cgroup = end->cgroup;
    s->limits = s->refused ? refusals->newest.limits : s->rss;
    fill_refusals(s, arena, reader, refusals);
    fill_growth(&s->growth, arena, reader, end);
    s->rss_then = rss_at_mark(&r->samples.source[MPR_SOURCE_RSS]);
}
