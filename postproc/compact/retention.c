/* Decides in one pass which events stay.  The decision about a block is made at its free, and that
 * about a range when all blocks that were allocated in it are decided. */
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "blocks.h"
#include "index.h"
#include "log.h"
#include "mpf/event.h"
#include "mpf/sample.h"
#include "reorder.h"
#include "thin.h"
#include "threads.h"

enum {
    PLACES = 2,             /* AT and AT_PYTHON before an event */
    FREES = 2,              /* the two events of a realloc */
    KEPT_AFTER_FAILURE = 4, /* blocks of a thread: they show how the failure ended */
};

/* A live block. */
struct block {
    uint64_t allocated, place[PLACES], size; /* allocated, place: events */
    uint32_t made_in[MPR_SPANS_AROUND];
    size_t instants, levels; /* numbers of instants and levels of its heap before its allocation */
    uint64_t freed;          /* its number among the freed blocks, from 1 */
    uint8_t places, heap;
    bool stays;
};

/* One of the newest freed blocks.  If replay finds no block for a free, it looks for one at most
 * MPR_REORDER_NS back (reorder.h).  The thinned log must also have those events, so that replay
 * pairs the same ones. */
struct freed {
    uint64_t key, time; /* time: of its free, or of the beginning of the realloc */
    uint32_t block;     /* 0 once it is decided whether the block stays */
    /* If it was removed: */
    uint8_t events, heap;
    uint64_t event[1 + PLACES + FREES], size;
    size_t from, to; /* numbers of levels of its heap before its allocation, and before its free */
};

struct thread {
    uint64_t place[PLACES];
    unsigned places;
    unsigned keep_next;  /* the number of next blocks that stay, after a failure */
    uint32_t moving;     /* the block that a realloc moves */
    uint64_t moving_key; /* the key of that block */
    uint64_t move_begin; /* the MOVE_BEGIN */
};

/* The newest sample of a kind, and the largest one in its bin. */
struct samples {
    uint64_t newest, largest, value, bin;
    size_t instants; /* their number before the newest sample */
    bool any;
};
enum { RSS, PSS, CGROUP, JEMALLOC, ALLOCATOR, KINDS };

struct finder {
    const struct mpr_kept *kept;
    struct mpr_retention *out;
    bool sums_estimated; /* the log has no totals of host/heap */
    uint64_t event;
    size_t instants[MPR_HEAPS], levels[MPR_HEAPS]; /* by heap, before the event */
    size_t instance, busy;                         /* the next of kept->instances and ->busy */
    struct mpr_index domains;                      /* domains in which a range was pushed */
    struct mpr_index live;                         /* blocks by address and heap */
    struct mpr_reorder reorder;                    /* as in replay */
    struct freed freed[MPR_RECENT_EVENTS];         /* a ring */
    uint64_t freed_count;                          /* ever */
    struct block *block;                           /* from 1 */
    uint32_t blocks, cap, free;                    /* free: a list by made_in[0] */
    struct thread *thread;
    uint32_t threads, captures;
    struct mpr_spans spans;
    struct samples samples[KINDS], torch_samples[MPF_GPUS];
};

static void remove_event(void *arg, uint64_t event)
{
    struct finder *f = arg;
    f->out->removed[event / 64] |= UINT64_C(1) << event % 64;
    f->out->count++;
}

static void restore_event(struct finder *f, uint64_t event)
{
    f->out->removed[event / 64] &= ~(UINT64_C(1) << event % 64);
    f->out->count--;
}

static struct thread *thread_of(struct finder *f, uint32_t number)
{
    if (number >= MPR_THREADS_MAX) number = 0; /* as in replay */
    MPR_REACH(f->thread, number, f->threads);
    return &f->thread[number];
}

/* ---- the position of the current event among the instants, levels and spans */

static size_t instants_before(struct finder *f, uint8_t heap)
{
    const struct mpr_event_list *m = &f->kept->whole[heap];
    size_t *at = &f->instants[heap];
    while (*at < m->count && m->at[*at] < f->event) ++*at;
    return *at;
}

static size_t levels_before(struct finder *f, uint8_t heap)
{
    const struct mpr_level_list *l = &f->kept->level[heap];
    size_t *at = &f->levels[heap];
    while (*at < l->count && l->at[*at].after < f->event) ++*at;
    return *at;
}

/* Returns true inside a span of kept->busy, whose numbers are first and last events in turn. */
static bool is_busy(struct finder *f)
{
    const struct mpr_event_list *m = &f->kept->busy;
    while (f->busy < m->count && m->at[f->busy] + f->busy % 2 <= f->event) f->busy++;
    return f->busy % 2;
}

/* ---- blocks, and events in the wrong order (reorder.h)
 *
 * Events that replay does not pair by their order stay, so that it pairs them in the same way in
 * the thinned log. */

static bool is_torch(unsigned heap) { return mpf_heap_code(heap) == MPF_HEAP_TORCH; }

/* Blocks of the driver's memory stay, because memory that no event names is measured between them.
 * Sampled blocks stay if they represent others: those of host/python, and those of host/heap unless
 * the log has totals. */
static bool may_remove(const struct finder *f, unsigned heap)
{
    if (heap == MPF_HEAP_PART) return !f->sums_estimated;
    return heap == MPF_HEAP_HOST || is_torch(heap);
}

static uint8_t heap_of(const struct mpf_event *e)
{
    return e->heap == MPF_HEAP_PART ? MPF_HEAP_HOST : e->heap;
}

/* PyTorch's blocks have one address space for all devices. */
static uint64_t key_of(const struct mpf_event *e)
{
    return mpr_block_key(e->addr, is_torch(e->heap) ? MPF_HEAP_TORCH : heap_of(e));
}

/* Returns the freed block with this number, from 1, or NULL if it is too old. */
static struct freed *freed_at(struct finder *f, uint64_t number)
{
    return number && f->freed_count - number < MPR_RECENT_EVENTS
               ? &f->freed[number % MPR_RECENT_EVENTS]
               : NULL;
}

/* ---- blocks */

/* @sign: 1 for a block that is removed, -1 for one that is restored */
static void count_removed(struct finder *f, const struct freed *b, int sign)
{
    struct mpr_removed_blocks *of = &f->out->of[b->heap];
    of->allocations += (uint64_t)sign;
    of->frees += (uint64_t)sign;
    if (b->from == b->to) return;
    of->bytes[b->from] += sign * (int64_t)b->size;
    of->blocks[b->from] += sign;
    of->bytes[b->to] -= sign * (int64_t)b->size;
    of->blocks[b->to] -= sign;
}

/* Called for a free without a block: restores the blocks that were freed at its address just
 * before, because replay needs them to find out which block the free belongs to. */
static void restore_recent(struct finder *f, const struct mpf_event *e)
{
    const uint64_t key = key_of(e);
    struct freed *b;
    for (uint64_t n = f->freed_count; (b = freed_at(f, n)); n--) {
        if (e->time - b->time > MPR_REORDER_NS) return;
        if (b->key != key) continue;
        b->key = 0;
        if (b->block) {
            f->block[b->block].stays = true;
            continue;
        }
        for (unsigned i = 0; i < b->events; i++) restore_event(f, b->event[i]);
        count_removed(f, b, -1);
    }
}

/* Decides whether a block stays that the current event frees.
 * @frees: the events that are removed with it */
static void decide(struct finder *f, uint32_t number, uint32_t thread, const uint64_t *frees,
                   unsigned count)
{
    struct block *b = &f->block[number];
    const bool stays = b->stays || instants_before(f, b->heap) != b->instants;
    mpr_spans_release(&f->spans, b->made_in, stays);
    if (stays) mpr_spans_keep(&f->spans, thread, false);
    else {
        struct freed *entry = freed_at(f, b->freed);
        struct freed removed = { .key = entry ? entry->key : 0,
                                 .time = entry ? entry->time : 0,
                                 .size = b->size,
                                 .from = b->levels,
                                 .to = levels_before(f, b->heap),
                                 .heap = b->heap };
        removed.event[removed.events++] = b->allocated;
        for (unsigned i = 0; i < b->places; i++) removed.event[removed.events++] = b->place[i];
        for (unsigned i = 0; i < count; i++) removed.event[removed.events++] = frees[i];
        for (unsigned i = 0; i < removed.events; i++) remove_event(f, removed.event[i]);
        count_removed(f, &removed, 1);
        if (entry) *entry = removed;
    }
    b->made_in[0] = f->free;
    f->free = number;
}

/* An allocation whose free has already been seen stays.  So does a block whose address was handed
 * out again before its free was seen, and the next block at that address. */
static void on_alloc(struct finder *f, const struct mpf_event *e)
{
    struct thread *t = thread_of(f, e->thread);
    const bool is_torch_block = is_torch(e->heap);
    const unsigned places = t->places;
    const bool after_failure = t->keep_next;
    const uint64_t key = key_of(e);
    t->places = 0;
    t->keep_next -= after_failure;
    if (f->reorder.count && !is_torch_block && mpr_reorder_take_free(&f->reorder, key, e->thread)) {
        mpr_spans_keep(&f->spans, e->thread, false);
        return;
    }
    const uint32_t before = mpr_index_get(&f->live, key);
    uint32_t number = f->free;
    if (number) f->free = f->block[number].made_in[0];
    else {
        f->blocks += !f->blocks; /* 0 is not used */
        MPR_REACH(f->block, f->blocks, f->cap);
        number = f->blocks++;
    }
    struct block *b = &f->block[number];
    *b = (struct block){ .allocated = f->event,
                         .size = e->size < MPF_SIZE_MAX ? e->size : MPF_SIZE_MAX,
                         .heap = heap_of(e),
                         .places = (uint8_t)places,
                         .stays = before || after_failure ||
                                  (is_torch_block && (f->captures || is_busy(f))) };
    memcpy(b->place, t->place, sizeof b->place);
    b->instants = instants_before(f, b->heap);
    b->levels = levels_before(f, b->heap);
    mpr_spans_hold(&f->spans, e->thread, is_torch_block, b->made_in);
    if (before) {
        if (!is_torch_block)
            mpr_reorder_wait(&f->reorder, key, e->time, e->thread, MPR_AWAITS_FREE);
        f->block[before].stays = true;
        decide(f, before, e->thread, NULL, 0);
    }
    mpr_index_set(&f->live, key, number);
}

/* Removes the block that an event frees from the live ones.  Returns its number, or 0 if the block
 * is unknown. */
static uint32_t take_block(struct finder *f, const struct mpf_event *e)
{
    const uint64_t key = key_of(e);
    const bool is_torch_block = is_torch(e->heap);
    if (!may_remove(f, e->heap)) return 0;
    if (f->reorder.count && !is_torch_block &&
        mpr_reorder_match(&f->reorder, key, MPR_AWAITS_FREE, 0))
        return 0;
    const uint32_t number = mpr_index_get(&f->live, key);
    if (!number) {
        restore_recent(f, e);
        if (!is_torch_block)
            mpr_reorder_wait(&f->reorder, key, e->time, e->thread, MPR_AWAITS_ALLOC);
        return 0;
    }
    mpr_index_set(&f->live, key, 0);
    f->block[number].freed = 0;
    if (!is_torch_block) {
        f->block[number].freed = ++f->freed_count;
        f->freed[f->freed_count % MPR_RECENT_EVENTS] =
            (struct freed){ .key = key, .time = e->time, .block = number };
    }
    return number;
}

/* Ends a realloc that failed, or whose end is missing: its block stays, and is live again. */
static void put_back(struct finder *f, struct thread *t)
{
    if (!t->moving) return;
    f->block[t->moving].stays = true;
    mpr_index_set(&f->live, t->moving_key, t->moving);
    t->moving = 0;
}

static void on_move_begin(struct finder *f, const struct mpf_event *e)
{
    struct thread *t = thread_of(f, e->thread);
    put_back(f, t);
    t->moving = take_block(f, e);
    t->moving_key = key_of(e);
    t->move_begin = f->event;
    if (!t->moving) mpr_spans_keep(&f->spans, e->thread, false);
}

static void on_move_end(struct finder *f, const struct mpf_event *e)
{
    struct thread *t = thread_of(f, e->thread);
    const uint64_t frees[FREES] = { t->move_begin, f->event };
    const uint32_t moved = t->moving;
    t->moving = 0;
    if (moved) decide(f, moved, e->thread, frees, e->addr ? 1 : 2);
    if (e->addr) on_alloc(f, e);
    t->places = 0;
}

/* ---- samples */

static void restore_sample(struct finder *f, uint64_t event)
{
    if (mpr_retention_is_removed(f->out, event)) restore_event(f, event);
}

/* Adds a sample.  Returns true if it is the first one, or the first after an instant.  Any other is
 * removed, and restored if it turns out to be the last before an instant, or the largest in its
 * bin. */
static bool add_sample(struct finder *f, struct samples *s, uint64_t value, uint64_t bin)
{
    const size_t instants = instants_before(f, MPF_HEAP_NONE);
    const bool near = !s->any || instants != s->instants;
    if (near && s->any) restore_sample(f, s->newest);
    if (s->any && bin != s->bin) restore_sample(f, s->largest);
    if (!s->any || bin != s->bin || value > s->value) s->value = value, s->largest = f->event;
    s->any = true;
    s->bin = bin;
    s->instants = instants;
    s->newest = f->event;
    return near;
}

static void on_sample(struct finder *f, struct samples *s, uint64_t value, uint64_t bin)
{
    if (!add_sample(f, s, value, bin)) remove_event(f, f->event);
}

static uint64_t value_of(const struct mpf_event *e, size_t number)
{
    uint64_t value = MPF_UNKNOWN;
    if (e->size >= (number + 1) * sizeof value)
        memcpy(&value, e->data + number * sizeof value, sizeof value);
    return value;
}

static void end_samples(struct finder *f, struct samples *s)
{
    if (!s->any) return;
    restore_sample(f, s->newest);
    restore_sample(f, s->largest);
}

/* ---- events */

static void on_push(struct finder *f, const struct mpf_event *e)
{
    const struct mpr_event_list *m = &f->kept->instances;
    const uint32_t domain = (uint32_t)(e->addr >> 32);
    const bool is_instance = f->instance < m->count && m->at[f->instance] == f->event,
               is_first = !mpr_index_get(&f->domains, domain);
    f->instance += is_instance;
    mpr_index_set(&f->domains, domain, 1);
    mpr_spans_push(&f->spans, e->thread, f->event, domain, is_instance || is_first || is_busy(f));
}

/* Keeps an event of any other kind, and the ranges that it happens in. */
static void on_other(struct finder *f, const struct mpf_event *e)
{
    if (e->op == MPF_OP_TORCH_CAPTURE) f->captures++;
    if (e->op == MPF_OP_TORCH_CAPTURE_END) f->captures -= f->captures > 0;
    if (e->op >= MPF_OP_MODULE || e->op == MPF_OP_THREAD || e->op == MPF_OP_GPU_CONTEXT) return;
    thread_of(f, e->thread)->places = 0;
    if (e->op == MPF_OP_MARK || e->op == MPF_OP_RANGE_START)
        mpr_spans_forget_newest(&f->spans, e->thread);
    if (e->thread) mpr_spans_keep(&f->spans, e->thread, true);
}

static void on_event(struct finder *f, const struct mpf_event *e)
{
    const uint64_t bin = e->time / f->kept->grain;
    struct mpr_early_event expired;
    struct thread *t = thread_of(f, e->thread);
    uint64_t pss;
    uint32_t freed;
    bool near;
    f->reorder.recent.at = e;
    while (f->reorder.count && mpr_reorder_expire(&f->reorder, e->time, &expired)) {}
    switch (e->op) {
    case MPF_OP_ALLOC: (may_remove(f, e->heap) ? on_alloc : on_other)(f, e); break;
    case MPF_OP_FREE:
        freed = take_block(f, e);
        if (freed) decide(f, freed, e->thread, &f->event, 1);
        else mpr_spans_keep(&f->spans, e->thread, false);
        break;
    case MPF_OP_MOVE_BEGIN: (may_remove(f, e->heap) ? on_move_begin : on_other)(f, e); break;
    case MPF_OP_MOVE_END: (may_remove(f, e->heap) ? on_move_end : on_other)(f, e); break;
    case MPF_OP_FAIL:
    case MPF_OP_GPU_FAIL:
    case MPF_OP_TORCH_OOM:
        if (e->op == MPF_OP_FAIL && mpf_fail_ends_move(e->heap)) put_back(f, t);
        t->keep_next = KEPT_AFTER_FAILURE;
        mpr_spans_keep(&f->spans, e->thread, true);
        break;
    case MPF_OP_AT:
    case MPF_OP_AT_PYTHON:
        if (t->places < PLACES) t->place[t->places++] = f->event;
        break;
    case MPF_OP_PUSH: on_push(f, e); break;
    case MPF_OP_POP:
        mpr_spans_pop(&f->spans, e->thread, f->event, (uint32_t)(e->addr >> 32));
        break;
    case MPF_OP_RANGE_DATA:
    case MPF_OP_TORCH_NODE: mpr_spans_add(&f->spans, e->thread, f->event); break;
    case MPF_OP_TORCH_NEXT:
        remove_event(f, f->event);
        break; /* thin.c writes it when it is needed */
    case MPF_OP_THREAD_END:
        if (e->addr < MPR_THREADS_MAX) mpr_spans_end_thread(&f->spans, (uint32_t)e->addr);
        break;
    case MPF_OP_SAMPLE_RSS: /* some of these samples also have PSS */
        near = add_sample(f, &f->samples[RSS], value_of(e, MPF_RSS_ANON), bin);
        pss = value_of(e, MPF_RSS_PSS);
        if (pss != MPF_UNKNOWN) near |= add_sample(f, &f->samples[PSS], pss, bin);
        if (!near) remove_event(f, f->event);
        break;
    case MPF_OP_SAMPLE_CGROUP: on_sample(f, &f->samples[CGROUP], value_of(e, 0), bin); break;
    case MPF_OP_SAMPLE_JEMALLOC: on_sample(f, &f->samples[JEMALLOC], value_of(e, 0), bin); break;
    case MPF_OP_SAMPLE_ALLOCATOR: on_sample(f, &f->samples[ALLOCATOR], value_of(e, 0), bin); break;
    case MPF_OP_TORCH_LEVEL:
        on_sample(f, &f->torch_samples[mpf_heap_device(e->heap)], e->addr, bin);
        break;
    default: on_other(f, e); break;
    }
}

/* After the last event: all blocks and ranges that are not decided stay. */
static void end(struct finder *f)
{
    MPR_INDEX_ALL(live, &f->live)
    mpr_spans_release(&f->spans, f->block[live->value].made_in, true);
    for (uint32_t i = 0; i < f->threads; i++)
        if (f->thread[i].moving)
            mpr_spans_release(&f->spans, f->block[f->thread[i].moving].made_in, true);
    mpr_spans_end(&f->spans);
    for (int i = 0; i < KINDS; i++) end_samples(f, &f->samples[i]);
    for (int i = 0; i < MPF_GPUS; i++) end_samples(f, &f->torch_samples[i]);
    for (int i = 0; i < MPR_HEAPS; i++) {
        struct mpr_removed_blocks *of = &f->out->of[i];
        for (size_t k = 1; k < f->kept->level[i].count; k++) {
            of->bytes[k] += of->bytes[k - 1];
            of->blocks[k] += of->blocks[k - 1];
        }
    }
}

static int read_log(struct finder *f, const char *path, uint64_t seq, struct mpr_error *error)
{
    const struct mpf_event *events;
    struct mpr_log *log;
    long count;
    if (mpr_log_open(&log, path, error) != 0) return -1;
    mpr_log_stop_after(log, seq);
    f->sums_estimated = mpr_header_get(mpr_log_header(log), "host.sums") != NULL;
    while ((count = mpr_log_next(log, &events, error)) > 0) {
        f->reorder.recent.batch = events;
        for (long i = 0; i < count; i++, f->event++) on_event(f, &events[i]);
        mpr_recent_events_keep(&f->reorder.recent, (size_t)count);
    }
    mpr_log_close(log);
    return count < 0 ? -1 : 0;
}

int mpr_retention_find(struct mpr_retention *retention, const struct mpr_kept *kept,
                       const char *log, uint64_t seq, struct mpr_error *error)
{
    struct finder *f = mpr_alloc(1, sizeof *f);
    *retention = (struct mpr_retention){ .removed = mpr_alloc(kept->events / 64 + 1,
                                                              sizeof *retention->removed) };
    f->kept = kept;
    f->out = retention;
    f->spans.remove = remove_event;
    f->spans.arg = f;
    for (int i = 0; i < MPR_HEAPS; i++) {
        const size_t levels = kept->level[i].count;
        retention->of[i].bytes = mpr_alloc(levels + 1, sizeof(int64_t));
        retention->of[i].blocks = mpr_alloc(levels + 1, sizeof(int64_t));
    }
    const int result = read_log(f, log, seq, error);
    end(f);
    mpr_spans_free(&f->spans);
    mpr_index_free(&f->domains);
    mpr_index_free(&f->live);
    free(f->block);
    free(f->thread);
    free(f);
    return result;
}

void mpr_retention_free(struct mpr_retention *retention)
{
    for (int i = 0; i < MPR_HEAPS; i++) {
        free(retention->of[i].bytes);
        free(retention->of[i].blocks);
    }
    free(retention->removed);
    *retention = (struct mpr_retention){ 0 };
}
