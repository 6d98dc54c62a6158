/* One pass.  What an event's fate hangs on lies ahead of it: a block's on its free, a range's on
 * the blocks that were made in it (spans.h). */
#include "fates.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "blocks.h"
#include "ended.h"
#include "index.h"
#include "log.h"
#include "mpf/event.h"
#include "mpf/sample.h"
#include "repairs.h"
#include "spans.h"
#include "threads.h"

enum {
    PLACES = MPR_ENDED_PLACES, /* AT and AT_PYTHON before an event */
    TOLD = 4, /* so many blocks of a thread stay after a failure: they tell how it ended */
};

struct life {
    uint64_t birth, place[PLACES], size;
    uint32_t made_in[MPR_SPANS_AROUND];
    size_t moments, levels; /* of its heap, that lie before it */
    uint64_t ended;         /* its number among those that ended */
    uint8_t places, heap;
    bool stays;
};

struct thread {
    uint64_t place[PLACES];
    unsigned places;
    uint32_t moving, told; /* moving: the block that a realloc works on, */
    uint64_t moving_key;   /* where it was, */
    uint64_t move;         /* and the event that said so */
};

/* The newest sample of a kind, and the largest of the bin. */
struct samples {
    uint64_t newest, largest, value, bin;
    size_t moments; /* that lie before the newest */
    bool any;
};
enum { RSS, ROLLUP, CGROUP, JEMALLOC, KINDS };

struct finder {
    const struct mpr_kept *kept;
    struct mpr_fates *fates;
    uint64_t event;
    size_t moments[MPR_HEAPS], levels[MPR_HEAPS]; /* of each heap, that lie before the event */
    size_t instance, busy;                        /* the next of kept->instances and ->busy */
    struct mpr_index domains;                     /* of which a range was pushed, + 1 */
    struct mpr_index live;                        /* by address and heap */
    struct mpr_repairs repairs;                   /* as replay has them */
    struct mpr_ended_ring ended;                  /* the last ones */
    struct life *life;                            /* from 1 */
    uint32_t lives, cap, free;
    struct thread *thread;
    uint32_t threads, captures;
    struct mpr_spans spans;
    struct samples samples[KINDS], levels_of_torch[MPF_GPUS];
};

static void drop(void *arg, uint64_t event)
{
    struct finder *f = arg;
    f->fates->gone[event / 64] |= UINT64_C(1) << event % 64;
    f->fates->removed++;
}

static void keep(struct finder *f, uint64_t event)
{
    f->fates->gone[event / 64] &= ~(UINT64_C(1) << event % 64);
    f->fates->removed--;
}

static struct thread *thread_of(struct finder *f, uint32_t number)
{
    if (number >= MPR_THREADS_MAX) number = 0; /* as in replay */
    MPR_REACH(f->thread, number, f->threads);
    return &f->thread[number];
}

/* ---- where in the log */

static size_t moments_before(struct finder *f, uint8_t heap)
{
    const struct mpr_moments *m = &f->kept->whole[heap];
    size_t *at = &f->moments[heap];
    while (*at < m->count && m->at[*at] < f->event) ++*at;
    return *at;
}

static size_t levels_before(struct finder *f, uint8_t heap)
{
    const struct mpr_levels_of *l = &f->kept->level[heap];
    size_t *at = &f->levels[heap];
    while (*at < l->count && l->at[*at].after < f->event) ++*at;
    return *at;
}

/* Of a span of kept->busy each second one is the last event. */
static bool is_busy(struct finder *f)
{
    const struct mpr_moments *m = &f->kept->busy;
    while (f->busy < m->count && m->at[f->busy] + f->busy % 2 <= f->event) f->busy++;
    return f->busy % 2;
}

/* ---- blocks */

static bool is_torch(unsigned heap) { return mpf_heap_code(heap) == MPF_HEAP_TORCH; }

/* Of the driver's memory each block stays: what no allocation names is measured around them.  So do
 * the sampled ones of host/python, which stand for numbers of others. */
static bool may_go(unsigned heap)
{
    return heap == MPF_HEAP_HOST || heap == MPF_HEAP_PART || is_torch(heap);
}

static uint8_t heap_of(const struct mpf_event *e)
{
    return e->heap == MPF_HEAP_PART ? MPF_HEAP_HOST : e->heap;
}

/* PyTorch's blocks lie in one space, whatever the device. */
static uint64_t key_of(const struct mpf_event *e)
{
    return mpr_block_key(e->addr, is_torch(e->heap) ? MPF_HEAP_TORCH : heap_of(e));
}

/* Threads that hand blocks on are seen in the wrong order now and then.  What replay pairs
 * otherwise than by order stays, so it pairs it again in the thinned log. */
static bool is_paired(struct finder *f, const struct mpf_event *e, enum mpr_waiting kind,
                      uint32_t not_thread)
{
    return f->repairs.count && !is_torch(e->heap) &&
           mpr_repairs_match(&f->repairs, key_of(e), kind, not_thread);
}

static void wait_for_partner(struct finder *f, const struct mpf_event *e, enum mpr_waiting kind)
{
    const struct mpr_repair repair = { key_of(e), e->time, e->thread, (uint8_t)kind };
    if (!is_torch(e->heap)) mpr_repairs_wait(&f->repairs, &repair);
}

static bool is_swapped(struct finder *f, const struct mpf_event *e)
{
    return f->repairs.count && !is_torch(e->heap) && mpr_repairs_swap(&f->repairs, key_of(e));
}

static void expire_repairs(struct finder *f, uint64_t now)
{
    struct mpr_repair late;
    while (f->repairs.count && mpr_repairs_expire(&f->repairs, now, &late)) {}
}

static uint32_t new_life(struct finder *f)
{
    const uint32_t life = f->free;
    if (life) {
        f->free = f->life[life].made_in[0];
        return life;
    }
    f->lives += !f->lives; /* 0 is none */
    MPR_REACH(f->life, f->lives, f->cap);
    return f->lives++;
}

/* One that goes, or (-1) stays after all. */
static void count_gone(struct finder *f, const struct mpr_ended *b, int sign)
{
    struct mpr_gone *of = &f->fates->of[b->heap];
    of->allocations += (uint64_t)sign;
    of->frees += (uint64_t)sign;
    if (b->from == b->to) return;
    of->bytes[b->from] += sign * (int64_t)b->size;
    of->blocks[b->from] += sign;
    of->bytes[b->to] -= sign * (int64_t)b->size;
    of->blocks[b->to] -= sign;
}

/* `frees` of them free it. */
static void go(struct finder *f, const struct life *l, const uint64_t *frees, unsigned count)
{
    struct mpr_ended *known = mpr_ended_get(&f->ended, l->ended);
    struct mpr_ended b = { .key = known ? known->key : 0,
                           .time = known ? known->time : 0,
                           .size = l->size,
                           .from = l->levels,
                           .to = levels_before(f, l->heap),
                           .heap = l->heap };
    b.event[b.events++] = l->birth;
    for (unsigned i = 0; i < l->places; i++) b.event[b.events++] = l->place[i];
    for (unsigned i = 0; i < count; i++) b.event[b.events++] = frees[i];
    for (unsigned i = 0; i < b.events; i++) drop(f, b.event[i]);
    count_gone(f, &b, 1);
    if (known) *known = b;
}

/* A free that no block waits for: what ended there just before tells whose it was. */
static void keep_before(struct finder *f, const struct mpf_event *e)
{
    struct mpr_ended b;
    while (mpr_ended_take(&f->ended, key_of(e), e->time, &b)) {
        if (b.life) {
            f->life[b.life].stays = true;
            continue;
        }
        for (unsigned i = 0; i < b.events; i++) keep(f, b.event[i]);
        count_gone(f, &b, -1);
    }
}

/* It ends with the event at hand: `frees` of them are what frees it. */
static void decide(struct finder *f, uint32_t life, uint32_t thread, const uint64_t *frees,
                   unsigned count)
{
    struct life *l = &f->life[life];
    const bool stays = l->stays || moments_before(f, l->heap) != l->moments;
    mpr_spans_release(&f->spans, l->made_in, stays);
    if (stays) mpr_spans_stay(&f->spans, thread, false);
    else go(f, l, frees, count);
    l->made_in[0] = f->free;
    f->free = life;
}

/* Its free has been seen. */
static void stillborn(struct finder *f, const struct mpf_event *e)
{
    struct thread *t = thread_of(f, e->thread);
    mpr_spans_stay(&f->spans, e->thread, false);
    t->places = 0;
    t->told -= t->told > 0;
}

/* One whose address was handed out before its free was seen stays, and so does the next there. */
static void born(struct finder *f, const struct mpf_event *e)
{
    if (is_paired(f, e, MPR_WAIT_ALLOC, e->thread) || is_swapped(f, e)) {
        stillborn(f, e);
        return;
    }
    struct thread *t = thread_of(f, e->thread);
    const uint64_t key = key_of(e);
    const uint32_t before = mpr_index_get(&f->live, key), life = new_life(f);
    struct life *l = &f->life[life];
    *l = (struct life){ .birth = f->event,
                        .size = e->size < MPF_SIZE_MAX ? e->size : MPF_SIZE_MAX,
                        .heap = heap_of(e),
                        .places = (uint8_t)t->places,
                        .stays = before || t->told ||
                                 (is_torch(e->heap) && (f->captures || is_busy(f))) };
    memcpy(l->place, t->place, sizeof l->place);
    l->moments = moments_before(f, l->heap);
    l->levels = levels_before(f, l->heap);
    mpr_spans_hold(&f->spans, e->thread, is_torch(e->heap), l->made_in);
    if (before) {
        wait_for_partner(f, e, MPR_WAIT_FREE);
        f->life[before].stays = true;
        decide(f, before, e->thread, NULL, 0);
    }
    mpr_index_set(&f->live, key, life);
    t->places = 0;
    t->told -= t->told > 0;
}

static uint32_t take(struct finder *f, const struct mpf_event *e)
{
    if (!may_go(e->heap) || is_paired(f, e, MPR_WAIT_FREE, 0)) return 0;
    const uint64_t key = key_of(e);
    const uint32_t life = mpr_index_get(&f->live, key);
    if (life) {
        mpr_index_set(&f->live, key, 0);
        f->life[life].ended = is_torch(e->heap) ? 0 : mpr_ended_add(&f->ended, key, e->time, life);
        return life;
    }
    keep_before(f, e);
    wait_for_partner(f, e, MPR_WAIT_ALLOC);
    return 0;
}

static void on_free(struct finder *f, const struct mpf_event *e)
{
    const uint32_t life = take(f, e);
    if (life) decide(f, life, e->thread, &f->event, 1);
    else mpr_spans_stay(&f->spans, e->thread, false);
}

/* ---- realloc: the old block is the thread's until it is known how that ended */

static void put_back(struct finder *f, struct thread *t)
{
    if (!t->moving) return;
    f->life[t->moving].stays = true;
    mpr_index_set(&f->live, t->moving_key, t->moving);
    t->moving = 0;
}

static void on_move_begin(struct finder *f, const struct mpf_event *e)
{
    struct thread *t = thread_of(f, e->thread);
    put_back(f, t);
    t->moving = take(f, e);
    t->moving_key = key_of(e);
    t->move = f->event;
    if (!t->moving) mpr_spans_stay(&f->spans, e->thread, false);
}

static void on_move_end(struct finder *f, const struct mpf_event *e)
{
    struct thread *t = thread_of(f, e->thread);
    const uint64_t frees[] = { t->move, f->event };
    const uint32_t moved = t->moving;
    t->moving = 0;
    if (moved) decide(f, moved, e->thread, frees, e->addr ? 1 : 2);
    if (e->addr && may_go(e->heap)) born(f, e);
    t->places = 0;
}

static void on_failure(struct finder *f, const struct mpf_event *e)
{
    struct thread *t = thread_of(f, e->thread);
    if (e->op == MPF_OP_FAIL && mpf_fail_ends_move(e->heap)) put_back(f, t);
    t->told = TOLD;
    mpr_spans_stay(&f->spans, e->thread, true);
}

/* ---- samples */

static void keep_again(struct finder *f, uint64_t event)
{
    if (mpr_fates_gone(f->fates, event)) keep(f, event);
}

/* Is it the first one, or the first behind a moment?  Else it goes unless something comes up. */
static bool is_near(struct finder *f, struct samples *s, uint64_t value, uint64_t bin)
{
    const size_t moments = moments_before(f, MPF_HEAP_NONE);
    const bool near = !s->any || moments != s->moments;
    if (near && s->any) keep_again(f, s->newest);
    if (s->any && bin != s->bin) keep_again(f, s->largest);
    if (!s->any || bin != s->bin || value > s->value) s->value = value, s->largest = f->event;
    s->any = true;
    s->bin = bin;
    s->moments = moments;
    s->newest = f->event;
    return near;
}

static void on_sample(struct finder *f, struct samples *s, uint64_t value, uint64_t bin)
{
    if (!is_near(f, s, value, bin)) drop(f, f->event);
}

static uint64_t value_of(const struct mpf_event *e, size_t number)
{
    uint64_t value = MPF_UNKNOWN;
    if (e->size >= (number + 1) * sizeof value)
        memcpy(&value, e->data + number * sizeof value, sizeof value);
    return value;
}

/* Some of them say more than others. */
static void on_rss(struct finder *f, const struct mpf_event *e, uint64_t bin)
{
    bool near = is_near(f, &f->samples[RSS], value_of(e, MPF_RSS_ANON), bin);
    const uint64_t pss = value_of(e, MPF_RSS_PSS);
    if (pss != MPF_UNKNOWN) near |= is_near(f, &f->samples[ROLLUP], pss, bin);
    if (!near) drop(f, f->event);
}

static void end_samples(struct finder *f, struct samples *s)
{
    if (!s->any) return;
    keep_again(f, s->newest);
    keep_again(f, s->largest);
}

/* ---- one event after the other */

static void on_place(struct finder *f, const struct mpf_event *e)
{
    struct thread *t = thread_of(f, e->thread);
    if (t->places < PLACES) t->place[t->places++] = f->event;
}

static void on_push(struct finder *f, const struct mpf_event *e)
{
    const struct mpr_moments *m = &f->kept->instances;
    const uint32_t domain = (uint32_t)(e->addr >> 32);
    const bool is_instance = f->instance < m->count && m->at[f->instance] == f->event,
               is_first = !mpr_index_get(&f->domains, domain);
    f->instance += is_instance;
    mpr_index_set(&f->domains, domain, 1);
    mpr_spans_push(&f->spans, e->thread, f->event, domain, is_instance || is_first || is_busy(f));
}

/* What else happens in a range, or to nobody's. */
static void on_other(struct finder *f, const struct mpf_event *e)
{
    if (e->op == MPF_OP_TORCH_CAPTURE) f->captures++;
    if (e->op == MPF_OP_TORCH_CAPTURE_END) f->captures -= f->captures > 0;
    if (e->op >= MPF_OP_MODULE || e->op == MPF_OP_THREAD || e->op == MPF_OP_GPU_CONTEXT) return;
    thread_of(f, e->thread)->places = 0;
    if (e->op == MPF_OP_MARK || e->op == MPF_OP_RANGE_START)
        mpr_spans_told_other(&f->spans, e->thread);
    if (e->thread) mpr_spans_stay(&f->spans, e->thread, true);
}

static void end_thread(struct finder *f, const struct mpf_event *e)
{
    if (e->addr < MPR_THREADS_MAX) mpr_spans_end_thread(&f->spans, (uint32_t)e->addr);
}

static void see(struct finder *f, const struct mpf_event *e)
{
    const uint64_t bin = e->time / f->kept->grain;
    f->repairs.recent.at = e;
    expire_repairs(f, e->time);
    switch (e->op) {
    case MPF_OP_ALLOC:
        if (may_go(e->heap)) born(f, e);
        else on_other(f, e);
        break;
    case MPF_OP_FREE: on_free(f, e); break;
    case MPF_OP_MOVE_BEGIN:
        if (may_go(e->heap)) on_move_begin(f, e);
        else on_other(f, e);
        break;
    case MPF_OP_MOVE_END:
        if (may_go(e->heap)) on_move_end(f, e);
        else on_other(f, e);
        break;
    case MPF_OP_FAIL:
    case MPF_OP_GPU_FAIL:
    case MPF_OP_TORCH_OOM: on_failure(f, e); break;
    case MPF_OP_AT:
    case MPF_OP_AT_PYTHON: on_place(f, e); break;
    case MPF_OP_PUSH: on_push(f, e); break;
    case MPF_OP_POP:
        mpr_spans_pop(&f->spans, e->thread, f->event, (uint32_t)(e->addr >> 32));
        break;
    case MPF_OP_RANGE_DATA:
    case MPF_OP_TORCH_NODE: mpr_spans_add(&f->spans, e->thread, f->event); break;
    case MPF_OP_TORCH_NEXT: drop(f, f->event); break; /* told again before what needs it */
    case MPF_OP_THREAD_END: end_thread(f, e); break;
    case MPF_OP_SAMPLE_RSS: on_rss(f, e, bin); break;
    case MPF_OP_SAMPLE_CGROUP: on_sample(f, &f->samples[CGROUP], value_of(e, 0), bin); break;
    case MPF_OP_SAMPLE_JEMALLOC: on_sample(f, &f->samples[JEMALLOC], value_of(e, 0), bin); break;
    case MPF_OP_TORCH_LEVEL:
        on_sample(f, &f->levels_of_torch[mpf_heap_device(e->heap)], e->addr, bin);
        break;
    default: on_other(f, e); break;
    }
}

/* ---- the whole */

static void stay_all(struct finder *f)
{
    for (size_t i = 0; f->live.at && i <= f->live.mask; i++)
        if (f->live.at[i].value)
            mpr_spans_release(&f->spans, f->life[f->live.at[i].value].made_in, true);
    for (uint32_t i = 0; i < f->threads; i++)
        if (f->thread[i].moving)
            mpr_spans_release(&f->spans, f->life[f->thread[i].moving].made_in, true);
    mpr_spans_end(&f->spans);
    for (int i = 0; i < KINDS; i++) end_samples(f, &f->samples[i]);
    for (int i = 0; i < MPF_GPUS; i++) end_samples(f, &f->levels_of_torch[i]);
}

static int read_all(struct finder *f, const char *path, uint64_t seq, struct mpr_error *error)
{
    const struct mpf_event *events;
    struct mpr_log *log;
    long count;
    if (mpr_log_open(&log, path, error) != 0) return -1;
    mpr_log_stop_after(log, seq);
    while ((count = mpr_log_next(log, &events, error)) > 0) {
        mpr_recent_begin(&f->repairs.recent, events);
        for (long i = 0; i < count; i++, f->event++) see(f, &events[i]);
        mpr_recent_end(&f->repairs.recent, (size_t)count);
    }
    mpr_log_close(log);
    return count < 0 ? -1 : 0;
}

static void sum_up(int64_t *change, size_t count)
{
    for (size_t i = 1; i < count; i++) change[i] += change[i - 1];
}

int mpr_fates_find(struct mpr_fates *fates, const struct mpr_kept *kept, const char *log,
                   uint64_t seq, struct mpr_error *error)
{
    struct finder *f = mpr_alloc(1, sizeof *f);
    *fates = (struct mpr_fates){ .gone = mpr_alloc(kept->events / 64 + 1, sizeof *fates->gone) };
    f->kept = kept;
    f->fates = fates;
    f->spans.drop = drop;
    f->spans.arg = f;
    for (int i = 0; i < MPR_HEAPS; i++) {
        const size_t levels = kept->level[i].count;
        fates->of[i].bytes = mpr_alloc(levels + 1, sizeof(int64_t));
        fates->of[i].blocks = mpr_alloc(levels + 1, sizeof(int64_t));
    }
    const int result = read_all(f, log, seq, error);
    stay_all(f);
    for (int i = 0; i < MPR_HEAPS; i++) {
        sum_up(fates->of[i].bytes, kept->level[i].count);
        sum_up(fates->of[i].blocks, kept->level[i].count);
    }
    mpr_spans_free(&f->spans);
    mpr_index_free(&f->domains);
    mpr_index_free(&f->live);
    free(f->life);
    free(f->thread);
    free(f);
    return result;
}

void mpr_fates_free(struct mpr_fates *fates)
{
    for (int i = 0; i < MPR_HEAPS; i++) {
        free(fates->of[i].bytes);
        free(fates->of[i].blocks);
    }
    free(fates->gone);
    *fates = (struct mpr_fates){ 0 };
}
