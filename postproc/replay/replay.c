/* Applies each event.  Events of host memory are handled in host_blocks.c and mappings.c, those of
 * devices in gpu.c, and short ones here. */
#include "replay.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "gpu.h"
#include "projection.h"

#define PREFETCH_AHEAD 32

static void set_window(struct mpr_capture_windows *w, bool open, uint64_t time)
{
    if (open == w->open) return;
    w->open = open;
    if (open) {
        if (!w->count++) w->first_ns = time;
        w->since = time;
        return;
    }
    w->last_ns = time;
    w->closed_ns += time - w->since;
}

void mpr_replay_init(struct mpr_replay *r, const struct mpr_replay_options *options)
{
    memset(r, 0, sizeof *r);
    r->options = *options;
    const double mean =
        options->sample_mean > 0 ? options->sample_mean : options->torch_sample_mean;
    r->estimates.stacks = (struct mpr_sampling){ mean, options->sample_below };
    r->estimates.python =
        (struct mpr_sampling){ options->python_sample_mean, options->sample_below };
    r->estimates.host =
        (struct mpr_sampling){ options->host_sample_mean, options->host_sample_below };
    r->estimates.host_is_estimated = options->host_sums_estimated;
    const struct mpr_instant at = options->at;
    r->advance_at = at.settled ? at.to : at.from;
    if (at.settled && r->advance_at != MPR_PEAK_TIME) r->advance_at++;
    r->instant_at = r->advance_at;
    mpr_samples_init(&r->samples);
    mpr_accounts_init(&r->accounts);
    mpr_blocks_init(&r->blocks);
    mpr_ranges_init(&r->ranges);
    mpr_gpu_init(&r->gpu);
    set_window(&r->windows, options->in_window, 0);
}

void mpr_replay_free(struct mpr_replay *r)
{
    mpr_accounts_free(&r->accounts);
    mpr_blocks_free(&r->blocks);
    mpr_estimates_free(&r->estimates);
    mpr_counted_totals_free(&r->totals);
    mpr_ranges_free(&r->ranges);
    mpr_intervals_free(&r->mappings);
    mpr_intervals_free(&r->large_blocks);
    mpr_sites_free(&r->sites);
    mpr_gpu_free(&r->gpu);
    mpr_nvtx_free(&r->nvtx);
    mpr_threads_free(&r->threads);
}

/* ---- the selected instant (options.at), and the clock
 *
 * An instant may be a span of time, and several events may have the same time.  So replay acts
 * three times: before the first event in the span, before the first event later than the span's
 * begin, and before the first event later than its end. */

void mpr_watch_begin(struct mpr_replay *r, struct mpr_watch watch)
{
    assert(r->watches < MPR_WATCHES);
    r->watch[r->watches++] = watch;
}

void mpr_clock_begin(struct mpr_replay *r, const struct mpr_clock *clock)
{
    r->clock = *clock;
    if (clock->next < r->advance_at) r->advance_at = clock->next;
}

/* Begins or ends the selected instant, if the next event requires that.  An instant later than the
 * end of the log is the end.  @time: of the next event; UINT64_MAX at the end of the log. */
static void advance_instant(struct mpr_replay *r, uint64_t time)
{
    if (mpr_instant_is_peak(r->options.at) || r->instant_is_over || time < r->instant_at) return;
    if (!r->instant_begun) {
        r->instant_begun = true;
        if (time == UINT64_MAX && r->now < r->options.at.from)
            r->options.at = MPR_INSTANT_END_OF(r->now);
        mpr_accounts_instant_begin(&r->accounts, r->options.at.from, &r->now);
        mpr_gpu_instant_begin(r);
    }
    const struct mpr_instant at = r->options.at;
    if (time > at.from) mpr_gpu_instant_carry(r, at.from);
    if (time > at.to) {
        mpr_accounts_instant_end(&r->accounts);
        mpr_gpu_instant_end(r);
        r->instant_is_over = true;
    }
    r->instant_at = time > at.to ? UINT64_MAX : time > at.from ? at.to + 1 : at.from + 1;
    if (!r->instant_is_over || !r->snapshots || !mpr_snapshots_take(r->snapshots, r)) return;
    /* Another snapshot was requested: begin its instant. */
    r->options.at = MPR_INSTANT_AT(r->snapshots->at[r->snapshots->taken].time);
    r->instant_begun = r->instant_is_over = false;
    r->instant_at = r->options.at.from;
    for (int i = 0; i < MPR_HEAPS; i++) r->accounts.heap[i].changed_in_instant = false;
    mpr_gpu_instant_begin(r); /* frees the snapshots of the previous instant */
    advance_instant(r, time);
}

/* Called before an event at or after r->advance_at, and with UINT64_MAX after the last event. */
MPR_COLD static void advance(struct mpr_replay *r, uint64_t time)
{
    struct mpr_clock *clock = &r->clock;
    if (clock->tick && time >= clock->next && time != UINT64_MAX) {
        clock->tick(clock->arg, r, time);
        clock->next = time + clock->every;
    }
    advance_instant(r, time);
    const uint64_t next = clock->tick ? clock->next : UINT64_MAX;
    r->advance_at = next < r->instant_at ? next : r->instant_at;
}

/* ---- events other than allocations and frees */

static void name_thread(struct mpr_thread *t, const struct mpf_event *e)
{
    const size_t bytes = e->size < sizeof t->name - 1 ? (size_t)e->size : sizeof t->name - 1;
    if (bytes) memcpy(t->name, e->data, bytes);
    t->name[bytes] = 0;
}

static void call_watches(const struct mpr_replay *r, const struct mpr_thread *t,
                         const struct mpf_event *e)
{
    for (uint32_t i = r->watches; i-- > 0;) r->watch[i].event(r->watch[i].arg, r, t, e);
}

static_assert(MPF_OP_SAMPLE_CGROUP == MPF_OP_SAMPLE_RSS + MPR_SOURCE_CGROUP &&
                  MPF_OP_SAMPLE_JEMALLOC == MPF_OP_SAMPLE_RSS + MPR_SOURCE_JEMALLOC,
              "sources of samples are in the order of the operations");
static_assert(MPF_OP_POP == MPF_OP_PUSH + 1 && MPF_OP_RANGE_START == MPF_OP_PUSH + 2 &&
                  MPF_OP_RANGE_END == MPF_OP_PUSH + 3 && MPF_OP_MARK == MPF_OP_PUSH + 4 &&
                  MPF_OP_RANGE_DATA > MPF_OP_MARK,
              "mpr_gpu_range compares operations on ranges by their order");

static void apply_other(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    switch (e->op) {
    case MPF_OP_FAIL: mpr_host_fail(r, t, e); break;
    case MPF_OP_MAP ... MPF_OP_REMAP_TO: mpr_mappings_event(r, t, e); break;
    case MPF_OP_PUSH:
        mpr_thread_push(t, &r->ranges, r->count[e->op],
                        mpr_ranges_name(&r->ranges, (uint32_t)e->addr), (uint32_t)(e->addr >> 32));
        break;
    case MPF_OP_POP: mpr_thread_pop(t, &r->ranges, (uint32_t)(e->addr >> 32)); break;
    case MPF_OP_NAME: mpr_ranges_set_name(&r->ranges, (uint32_t)e->addr, e->data, e->size); break;
    case MPF_OP_DOMAIN:
        mpr_texts_set(&r->ranges.domains, (uint32_t)e->addr, e->data, e->size);
        break;
    case MPF_OP_THREAD:
        t->tid = e->addr;
        if (!t->first_ns) t->first_ns = e->time;
        name_thread(t, e);
        break;
    case MPF_OP_THREAD_NAME: name_thread(t, e); break;
    case MPF_OP_THREAD_END:
        if (e->addr < r->threads.count && r->threads.at[e->addr])
            mpr_thread_end(r->threads.at[e->addr], e->time);
        break;
    case MPF_OP_SAMPLE_RSS ... MPF_OP_SAMPLE_JEMALLOC:
        mpr_samples_add(&r->samples, &r->accounts, e->op - MPF_OP_SAMPLE_RSS, e);
        break;
    case MPF_OP_SAMPLE_ALLOCATOR:
        mpr_samples_add(&r->samples, &r->accounts, MPR_SOURCE_ALLOCATOR, e);
        break;
    case MPF_OP_SAMPLE_RESIDENT: mpr_samples_add_resident(&r->samples, &r->accounts, e); break;
    case MPF_OP_RESIDENT_FILE: mpr_samples_add_file(&r->samples, e); break;
    case MPF_OP_RESIDENT_MAPPING:
        mpr_samples_add_mapping(&r->samples, &r->large_blocks, &r->mappings, e);
        break;
    case MPF_OP_SAMPLE_HOST: mpr_counted_totals_take(r, e); break;
    case MPF_OP_WINDOW: set_window(&r->windows, e->addr != 0, e->time); break;
    case MPF_OP_LOST:
        r->lost += e->addr;
        if (e->size < sizeof r->lost_by / sizeof *r->lost_by) r->lost_by[e->size] += e->addr;
        break;
    case MPF_OP_UNWRITTEN:
        if (e->size >= sizeof *r->unwritten && r->unwrittens < MPR_UNWRITTEN_MAX)
            memcpy(&r->unwritten[r->unwrittens++], e->data, sizeof *r->unwritten);
        break;
    default:
        break; /* an operation of a newer minor version, or one without effect on the accounts */
    }
    if (e->op >= MPF_OP_PUSH && e->op <= MPF_OP_RANGE_DATA) mpr_gpu_range(r, t, e);
    call_watches(r, t, e);
    if (e->op != MPF_OP_THREAD) t->at = (struct mpr_site){ 0, 0 };
}

/* Applies an event whose operation or heap has a high code: of a device, or of a heap that is part
 * of another one. */
static void apply_high(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    if (e->op == MPF_OP_FOLDED) mpr_counted_thinned(r, e);
    else if (e->op == MPF_OP_BLOCK_BYTES)
        r->block_bytes = (struct mpr_block_bytes){ e->addr, e->thread };
    else if (e->heap == MPF_HEAP_PYTHON) mpr_host_python(r, t, e);
    else if (e->heap == MPF_HEAP_PART) mpr_host_part(r, t, *e);
    else if (e->heap == MPF_HEAP_NVTX) mpr_nvtx_event(r, t, e);
    else {
        mpr_gpu_event(r, t, e);
        call_watches(r, t, e);
    }
}

/* ---- every event */

static_assert(MPF_OP_SAMPLE_HOST < MPF_OP_GPU_DEVICE && MPF_HEAP_SHM < MPF_HEAP_PINNED,
              "the host's operations and heaps have the lower codes");

static inline void apply(struct mpr_replay *r, const struct mpf_event *e)
{
    if (__builtin_expect(r->repairs.count, 0)) {
        r->repairs.recent.at = e;
        mpr_host_expire(r, e->time);
    }
    if (__builtin_expect(e->time >= r->advance_at, 0)) advance(r, e->time);
    r->now = e->time;
    r->actor = e->thread < MPR_THREADS_MAX ? e->thread : 0;
    r->count[e->op]++;
    const bool gpu = (e->heap >= MPF_HEAP_PINNED) | (e->op >= MPF_OP_GPU_DEVICE);
    if (e->op == MPF_OP_FREE && !gpu) {
        mpr_host_free(r, e);
        return;
    }
    struct mpr_thread *t = e->thread < r->threads.count ? r->threads.at[e->thread] : NULL;
    if (!t) t = mpr_threads_get(&r->threads, e->thread);
    if (e->op == MPF_OP_ALLOC && !gpu) mpr_host_alloc(r, t, e);
    else if ((e->op == MPF_OP_AT) | (e->op == MPF_OP_AT_PYTHON)) {
        /* the call stack of the thread's next event */
        if (e->op == MPF_OP_AT) t->at.stack = mpr_sites_stack(&r->sites, e->addr);
        else t->at.python = mpr_sites_python(&r->sites, e->addr);
    } else if (__builtin_expect(gpu, 0)) apply_high(r, t, e);
    else if (e->op == MPF_OP_MOVE_BEGIN) mpr_host_move_begin(r, t, e);
    else if (e->op == MPF_OP_MOVE_END) mpr_host_move_end(r, t, e);
    else apply_other(r, t, e);
}

static inline void prefetch(const struct mpr_replay *r, const struct mpf_event *e)
{
    mpr_blocks_prefetch(&r->blocks, mpr_block_key(e->addr, e->heap));
}

/* Skips malloc's blocks, or all blocks except those of NVTX's heaps, whose names are needed.  A
 * skipped event still advances the time, and uses up the thread's call stack. */
static void apply_some(struct mpr_replay *r, const struct mpf_event *events, size_t count)
{
    const bool none = r->options.without_blocks;
    for (const struct mpf_event *e = events; e < events + count; e++) {
        if (!mpf_op_is_of_block(e->op) ||
            (none ? e->heap == MPF_HEAP_NVTX : e->heap != MPF_HEAP_HOST)) {
            apply(r, e);
            continue;
        }
        if (e->time >= r->advance_at) advance(r, e->time);
        r->now = e->time;
        if (e->op == MPF_OP_FREE) continue;
        struct mpr_thread *t = mpr_threads_get(&r->threads, e->thread);
        if (none) mpr_sites_site(&r->sites, t->at);
        t->at = (struct mpr_site){ 0, 0 };
    }
}

void mpr_replay_batch(struct mpr_replay *r, const struct mpf_event *events, size_t count)
{
    if (__builtin_expect(r->options.before_bytes && !r->before.known, 0) &&
        !r->options.without_malloc && !r->options.without_blocks)
        mpr_before_begin(r);
    r->repairs.recent.batch = events;
    if (r->options.without_malloc || r->options.without_blocks) apply_some(r, events, count);
    else {
        for (size_t i = 0; i < count && i < PREFETCH_AHEAD; i++) prefetch(r, &events[i]);
        for (size_t i = 0; i < count; i++) {
            if (i + PREFETCH_AHEAD < count) prefetch(r, &events[i + PREFETCH_AHEAD]);
            apply(r, &events[i]);
        }
    }
    mpr_recent_events_keep(&r->repairs.recent, count);
}

void mpr_replay_finish(struct mpr_replay *r)
{
    r->actor = MPR_NOBODY;
    mpr_host_expire(r, UINT64_MAX);
    advance(r, UINT64_MAX);
    mpr_gpu_finish(r);
    mpr_counted_totals_finish(&r->totals, &r->accounts);
    mpr_samples_finish(&r->samples, &r->accounts);
}
