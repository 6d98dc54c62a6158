#include "peaks.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "alloc_context.h"
#include "amount.h"
#include "cell_totals.h"
#include "device.h"
#include "labels.h"
#include "lifetime_histogram.h"
#include "process_tree.h"
#include "projection.h"
#include "reader.h"
#include "reading.h"
#include "repeats.h"

void mpr_peaks_init(struct mpr_peaks *peaks, const struct mpr_peaks_options *options)
{
    *peaks = (struct mpr_peaks){ .options = *options };
}

void mpr_peaks_free(struct mpr_peaks *peaks)
{
    free(peaks->log);
    mpr_arena_free(&peaks->arena);
}

/* ---- rows */

static int by_order(const void *left, const void *right, void *order)
{
    const int result = mpr_row_by(left, right, *(const enum mpr_order *)order);
    return result ? result : mpr_row_by_path(left, right);
}

/* Marks the rows that are estimates. A sampled block counts for several others, which are in the
 * row of blocks without a stack. That row is reduced by them, so it is also an estimate. In a
 * heap of which only samples are recorded, the blocks are the sum of the rows. */
static void mark_estimated(const struct mpr_replay *r, const struct mpr_cell_totals *totals,
                           struct mpr_heap_peak *out)
{
    const bool only_samples = out->heap == MPF_HEAP_PYTHON;
    struct mpr_row *remainder = NULL;
    if (only_samples) out->peak_blocks = out->end_blocks = out->allocations = 0;
    for (struct mpr_row *row = out->row; row < out->row + out->rows; row++) {
        const struct mpr_cell_totals *h = &totals[row->cell];
        out->samples += h->samples;
        row->estimated |= only_samples || mpr_estimates_is_sampled(&r->estimates, row->cell);
        if (mpr_replay_is_represented(r, &r->accounts.cell[row->cell])) remainder = row;
        if (!only_samples) continue;
        out->peak_blocks += h->blocks;
        out->end_blocks += h->end_blocks;
        out->allocations += h->allocations;
    }
    out->estimated = only_samples || (out->heap == MPF_HEAP_HOST && r->options.host_sums_estimated);
    if (only_samples) out->frees = mpr_saturating_sub(out->allocations, out->end_blocks);
    else if (remainder && out->samples) remainder->estimated = true;
}

/* Returns the bytes of all blocks of a cell, or UINT64_MAX if they are not known: memory that is
 * counted by pages has no blocks, and samples are not all blocks. */
static uint64_t all_bytes(const struct mpr_replay *r, uint32_t cell, bool estimated)
{
    const struct mpr_cell_lifetimes all = mpr_lifetime_histogram_of(r->lifetimes, cell);
    return all.allocations && !estimated ? all.bytes : UINT64_MAX;
}

/* Returns true if rows have the lifetimes of their threads. */
static bool has_lifetimes(const struct mpr_peaks_options *o)
{
    return o->all_bytes && o->by == MPR_GROUP_THREAD;
}

void mpr_peaks_fill_rows(struct mpr_peaks *peaks, const struct mpr_reader *reader, uint8_t heap,
                         struct mpr_heap_peak *out)
{
    const struct mpr_replay *r = &reader->replay;
    struct mpr_arena *arena = &peaks->arena;
    size_t count = 0;
    for (uint32_t i = 0; i < r->accounts.cells; i++) count += r->accounts.cell[i].heap == heap;
    out->heap = heap;
    out->row = mpr_arena_alloc(arena, count * sizeof *out->row);
    struct mpr_cell_totals *totals = mpr_cell_totals_heap(r, heap);
    for (uint32_t i = 0; i < r->accounts.cells; i++) {
        const struct mpr_cell *cell = &r->accounts.cell[i];
        if (cell->heap != heap) continue;
        const bool counted = mpr_counted_totals_is(&r->totals, &r->accounts, cell);
        /* the lines have all of the estimated sum */
        if (counted && r->options.host_sums_estimated && !totals[i].bytes && !totals[i].end_bytes)
            continue;
        out->row[out->rows++] = (struct mpr_row){
            .path = mpr_label_path(arena, reader, cell),
            .bytes = totals[i].bytes,
            .blocks = totals[i].blocks,
            .own_peak = totals[i].own_peak,
            .estimated = counted,
            .counted = counted,
            .allocations = totals[i].allocations,
            .end_bytes = totals[i].end_bytes,
            .all_bytes = peaks->options.all_bytes ? all_bytes(r, i, totals[i].estimated) : 0,
            .variance = totals[i].variance,
            .inherited = mpr_accounts_at_peak(&r->accounts, cell).inherited,
            .cell = i,
        };
        if (r->options.by == MPR_GROUP_AUTO && cell->key & MPR_KEY_LIBRARY)
            out->by_library += totals[i].bytes;
    }
    if (heap == MPF_HEAP_PYTHON || mpr_replay_extrapolates(r, heap)) mark_estimated(r, totals, out);
    qsort_r(out->row, out->rows, sizeof *out->row, by_order, &peaks->options.order);
    if (has_lifetimes(&peaks->options)) {
        out->thread = mpr_arena_alloc(arena, count * sizeof *out->thread);
        for (size_t i = 0; i < out->rows; i++) {
            const uint32_t cell = out->row[i].cell, thread = (uint32_t)r->accounts.cell[cell].key;
            out->thread[i] = (struct mpr_thread_row){ .row = out->row[i],
                                                      .life = mpr_info_thread(arena, r, thread),
                                                      .end_blocks = totals[cell].end_blocks };
        }
    }
    free(totals);
}

/* Lists all threads, with those that allocated. */
static void fill_threads(struct mpr_peaks *peaks, const struct mpr_replay *r,
                         struct mpr_log_peaks *out)
{
    bool *allocated = mpr_alloc(r->threads.count, sizeof *allocated); /* by number */
    out->thread = mpr_info_threads(&peaks->arena, r, &out->threads);
    for (uint32_t i = 0; i < r->accounts.cells; i++) {
        const struct mpr_cell *cell = &r->accounts.cell[i];
        if (cell->key < r->threads.count) allocated[cell->key] |= cell->allocations != 0;
    }
    for (size_t i = 0; i < out->threads; i++)
        out->thread[i].allocated = allocated[out->thread[i].number];
    free(allocated);
}

/* ---- samples */

static uint64_t file_bytes(const struct mpr_reading *rss)
{
    const uint64_t file = rss->value[MPF_RSS_FILE], shared = rss->value[MPF_RSS_SHMEM];
    return (file == MPF_UNKNOWN ? 0 : file) + (shared == MPF_UNKNOWN ? 0 : shared);
}

/* Fills the touched bytes of a heap. Mappings and large blocks need no memory until they are
 * touched, but a sample shows only one instant, and the program may touch a block later. So all
 * samples while the heap held its peak count. They must cover at least half of that time; the
 * recorder omits samples that repeat the previous values. Thinning removes samples, so the bytes
 * are unknown for a peak in the thinned part of a log.
 *
 * If the high-water mark of RSS rose since the sample before the peak, the mark without files is
 * another upper bound. */
static void fill_touched(const struct mpr_peak_samples *at, const struct mpr_log_status *log,
                         uint8_t heap, struct mpr_heap_peak *out)
{
    const struct mpr_reading last = mpr_reading_of(&at->last), *before = &out->before[MPR_READ_RSS];
    out->touched = out->sampled = (struct mpr_touched){ MPF_UNKNOWN, 0, false };
    if ((heap != MPF_HEAP_HOST && heap != MPF_HEAP_MMAP) || !last.valid) return;
    if (log->fold.state == MPR_LOG_FOLDED && out->peak_time < log->fold.until_ns) return;
    const uint64_t known = mpr_saturating_sub(mpr_reading_held_until(&at->last, log->end_ns),
                                              out->peak_time),
                   all = mpr_saturating_sub(log->end_ns, out->peak_time);
    if (!at->over && known < all / 2) return;
    uint64_t high = last.value[MPF_RSS_HWM], files = file_bytes(&last);
    const bool rose = !before->valid || before->value[MPF_RSS_HWM] == MPF_UNKNOWN ||
                      high > before->value[MPF_RSS_HWM];
    if (before->valid && file_bytes(before) < files) files = file_bytes(before);
    if (high != MPF_UNKNOWN && rose) high = mpr_saturating_sub(high, files);
    const struct mpr_touched touched = { at->touched, at->time, false };
    const bool is_known = at->touched != MPF_UNKNOWN && (rose || !at->over);
    if (is_known) out->touched = touched;
    if (high != MPF_UNKNOWN && (!is_known || (rose && high > at->touched)))
        out->touched = (struct mpr_touched){ high, last.time, true };
    out->sampled = at->touched == MPF_UNKNOWN ? out->touched : touched;
}

/* ---- instances */

static void fill_instance(struct mpr_peaks *peaks, const struct mpr_reader *reader, uint8_t heap,
                          struct mpr_peak_instance *out)
{
    const struct mpr_repeats_peak peak = mpr_repeats_at_peak(reader->repeats, heap);
    const struct mpr_followed *f = peak.instance;
    *out = (struct mpr_peak_instance){ .name = "", .open = peak.open, .beyond = peak.is_full };
    if (!f) return;
    const struct mpr_replay *r = &reader->replay;
    const uint32_t around = r->ranges.node[f->node].depth;
    bool numbered_around = false; /* for example the 8 of "batch 8 > layer 0" */
    for (uint32_t node = f->node; (node = r->ranges.node[node].parent);)
        numbered_around |= mpr_repeats_numbered(reader->repeats, r, node);
    out->range = mpr_repeats_name(reader->repeats, &peaks->arena, f->range);
    out->numbered = mpr_repeats_numbered(reader->repeats, r, f->node);
    out->name =
        out->numbered && numbered_around
            ? mpr_frame_path_text(&peaks->arena, mpr_label_node(&peaks->arena, reader, f->node))
            : mpr_repeats_label(reader->repeats, r, &peaks->arena, f->node, out->range, f->number);
    out->number = f->number;
    out->of = reader->repeats->repeat[f->range].instances;
    if (r->ranges.node[f->inner].depth <= around) return;
    out->path = mpr_label_node(&peaks->arena, reader, f->inner);
    out->path.frame += around;
    out->path.depth -= around;
}

/* ---- heaps and logs */

static void fill_heap(struct mpr_peaks *peaks, const struct mpr_reader *reader, uint8_t code,
                      struct mpr_heap_peak *out)
{
    const struct mpr_replay *r = &reader->replay;
    const struct mpr_heap *heap = &r->accounts.heap[code];
    *out = (struct mpr_heap_peak){
        .heap = code,
        .peak_bytes = heap->peak_bytes,
        .peak_time = heap->peak_time,
        .peak_blocks = heap->peak_blocks,
        .end_bytes = heap->bytes,
        .end_blocks = heap->blocks,
        .allocations = heap->allocations,
        .frees = heap->frees,
        .made_bytes = heap->made_bytes,
        .failures = heap->failures,
        .failure_bytes = heap->largest.size,
        .failure_time = heap->largest.time,
        .failure_errno = heap->largest.error,
        .huge_failures = heap->huge_failures,
        .huge_failure_bytes = heap->largest_huge.size,
        .huge_failure_time = heap->largest_huge.time,
        .huge_failure_errno = heap->largest_huge.error,
    };
    out->inside = mpr_heap_around(code);
    out->nested = mpr_label_is_nested((uint8_t)code);
    out->is_approximate = mpr_label_is_approximate(r, code);
    mpr_peaks_fill_rows(peaks, reader, code, out);
    fill_instance(peaks, reader, code, &out->instance);
    for (int i = 0; i < MPR_READ_SOURCES; i++) {
        const struct mpr_sample_track *track = &r->samples.source[i];
        out->before[i] = mpr_reading_of(&track->before[code]);
        out->after[i] = mpr_reading_of(&track->after[code]);
        out->then[i] = mpr_reading_at_peak(track, code, out->peak_time);
    }
    fill_touched(&r->samples.at_peak[code], mpr_log_status(reader->log), code, out);
}

MPR_COMPARE(by_peak, struct mpr_heap_peak,
            mpr_compare(b->peak_bytes, a->peak_bytes) ?: mpr_heap_by_name(a->heap, b->heap))

static void fill_heaps(struct mpr_peaks *peaks, const struct mpr_reader *reader,
                       struct mpr_log_peaks *out)
{
    const struct mpr_replay *r = &reader->replay;
    size_t used = 0;
    for (int i = 0; i < MPR_HEAPS; i++) used += r->accounts.heap[i].used;
    out->heap = mpr_arena_alloc(&peaks->arena, used * sizeof *out->heap);
    for (int i = 0; i < MPR_HEAPS; i++) {
        if (!r->accounts.heap[i].used || (peaks->options.heap && i != peaks->options.heap))
            continue;
        fill_heap(peaks, reader, (uint8_t)i, &out->heap[out->heaps++]);
    }
    qsort(out->heap, out->heaps, sizeof *out->heap, by_peak);
    out->peak_bytes = out->heaps ? out->heap[0].peak_bytes : 0;
}

MPR_COMPARE(by_resident, struct mpr_resident_owner,
            mpr_compare(b->resident, a->resident) ?: mpr_compare(b->bytes, a->bytes)
                ?: mpr_frame_compare_paths(a->path, b->path))

static void fill_owners(struct mpr_peaks *peaks, const struct mpr_reader *reader,
                        struct mpr_log_peaks *out)
{
    const struct mpr_resident *r = &out->resident;
    out->owner = mpr_arena_alloc(&peaks->arena, r->cells * sizeof *out->owner);
    for (const struct mpr_resident_cell *m = r->cell; m < r->cell + r->cells; m++) {
        struct mpr_resident_owner *o = out->owner, *end = out->owner + out->owners;
        while (o < end && o->cell != m->cell) o++;
        if (o == end) {
            const struct mpr_cell *cell = &reader->replay.accounts.cell[m->cell];
            *o = (struct mpr_resident_owner){ .path = mpr_label_path(&peaks->arena, reader, cell),
                                              .cell = m->cell };
            out->owners++;
        }
        o->bytes += m->bytes;
        o->resident += m->resident;
        o->huge += m->huge;
    }
    qsort(out->owner, out->owners, sizeof *out->owner, by_resident);
}

void mpr_peaks_take(struct mpr_peaks *peaks, const struct mpr_reader *reader, const char *path,
                    const struct mpr_choice *choice)
{
    const struct mpr_samples *samples = &reader->replay.samples;
    MPR_GROW(peaks->log, peaks->logs, peaks->cap);
    struct mpr_log_peaks *out = &peaks->log[peaks->logs++];
    *out = (struct mpr_log_peaks){ .parent = -1,
                                   .executed = -1,
                                   .at = peaks->options.at,
                                   .choice = *choice,
                                   .resident = samples->resident };
    mpr_reader_summary(reader, path, &peaks->arena, &out->summary);
    fill_heaps(peaks, reader, out);
    fill_owners(peaks, reader, out);
    if (has_lifetimes(&peaks->options)) fill_threads(peaks, &reader->replay, out);
    out->device = mpr_devices_fill(&peaks->arena, reader, &out->devices);
    out->note = mpr_label_notes(&peaks->arena, reader, &out->notes);
    out->is_libdw_missing = mpr_label_is_libdw_missing();
    for (int i = 0; i < MPR_READ_SOURCES; i++)
        out->largest[i] = mpr_reading_of(&samples->source[i].largest);
    out->rss_high = mpr_reading_rss_high(samples, out->summary.hwm);
    const uint64_t end = out->summary.duration_ns;
    out->rss_peak = mpr_reading_peak(samples, MPR_READ_RSS, out->summary.hwm, end);
    out->cgroup_peak = mpr_reading_peak(samples, MPR_READ_CGROUP, 0, end);
}

/* ---- readings */

/* Returns true if the replay finds out the grouping. */
static bool is_auto(const struct mpr_peaks_options *o)
{
    return o->by == MPR_GROUP_AUTO && !o->choice;
}

/* Returns the requested grouping, or the known one for AUTO. */
static struct mpr_choice asked(const struct mpr_peaks_options *o)
{
    const struct mpr_choice by = { .by = o->by, .source = "" };
    return o->by == MPR_GROUP_AUTO && o->choice ? *o->choice : by;
}

static int open_by(struct mpr_reader *reader, const struct mpr_peaks_options *o, enum mpr_group by,
                   const char *path, struct mpr_error *error)
{
    if (mpr_reader_open(reader, path, by, o->at, error) != 0) return -1;
    reader->replay.options.no_inherit = o->no_inherit;
    reader->replay.options.backward_of = o->backward_of;
    reader->repeats = mpr_repeats_watch(&reader->replay);
    return 0;
}

int mpr_peaks_add_observed(struct mpr_peaks *peaks, const char *path,
                           const struct mpr_peaks_observer *observer,
                           const struct mpr_progress *progress, struct mpr_error *error)
{
    const struct mpr_peaks_options *o = &peaks->options;
    const bool finds_by = is_auto(o);
    struct mpr_choice choice = asked(o);
    struct mpr_lifetime_histogram lifetimes = { 0 };
    struct mpr_own_peaks own;
    struct mpr_projection projection;
    struct mpr_reader reader;
    if (open_by(&reader, o, finds_by ? MPR_GROUP_PLACE : choice.by, path, error) != 0) return -1;
    if (o->all_bytes) reader.replay.lifetimes = &lifetimes;
    if (finds_by) mpr_own_peaks_begin(&own, &reader.replay, MPR_GROUP_AUTO);
    if (observer->begin) observer->begin(observer->arg, &reader);
    const int status = mpr_reader_replay(&reader, path, progress, error);
    if (status == 0) {
        if (finds_by) choice = mpr_choose(&reader);
        mpr_projection_begin(&projection, &reader.replay, choice.by, NULL);
        mpr_peaks_take(peaks, &reader, path, &choice);
        if (observer->end) observer->end(observer->arg, &reader, &projection);
        mpr_projection_end(&projection, &reader.replay);
        mpr_reader_close(&reader);
    }
    if (finds_by) mpr_own_peaks_free(&own);
    mpr_lifetime_histogram_free(&lifetimes);
    return status;
}

/* Groups by AUTO from the begin if ranges or Python stacks are among the first events. */
static void expect_names(struct mpr_reader *reader, const struct mpf_event *events, size_t count)
{
    for (size_t i = 0; i < count && reader->enough; i++)
        if (events[i].op == MPF_OP_PUSH || events[i].op == MPF_OP_PYTHON) {
            reader->replay.options.by = MPR_GROUP_AUTO;
            reader->enough = NULL;
        }
}

/* Replays by native stacks until the log has better names, otherwise by AUTO. The final grouping
 * is known at the end of the log. If it is another one, the log is read again. */
static int replay_auto(struct mpr_reader *reader, const struct mpr_peaks_options *o,
                       struct mpr_choice *choice, const char *path,
                       const struct mpr_progress *progress, struct mpr_error *error)
{
    enum mpr_group by, next = MPR_GROUP_STACK;
    bool first = true;
    do {
        if (open_by(reader, o, next, path, error) != 0) return -1;
        if (first) {
            reader->look_ahead = expect_names;
            reader->enough = mpr_choose_has_better_names;
        }
        const int status = mpr_reader_replay(reader, path, progress, error);
        if (status < 0) return -1;
        first = false;
        by = reader->replay.options.by;
        *choice = mpr_choose(reader);
        next = status > 0 ? MPR_GROUP_AUTO : choice->by;
        if (next == MPR_GROUP_RANGE) next = by; /* without names all groupings are the same */
        if (next != by) mpr_reader_close(reader);
    } while (next != by);
    return 0;
}

/* Without an observer no projection is needed, which would cost a tenth of the time. */
int mpr_peaks_add(struct mpr_peaks *peaks, const char *path, const struct mpr_progress *progress,
                  struct mpr_error *error)
{
    const struct mpr_peaks_options *o = &peaks->options;
    struct mpr_choice choice = asked(o);
    struct mpr_reader reader;
    if (o->all_bytes)
        return mpr_peaks_add_observed(peaks, path, &(struct mpr_peaks_observer){ .arg = NULL },
                                      progress, error);
    if (is_auto(o)) {
        if (replay_auto(&reader, o, &choice, path, progress, error) != 0) return -1;
    } else if (open_by(&reader, o, choice.by, path, error) != 0 ||
               mpr_reader_replay(&reader, path, progress, error) != 0)
        return -1;
    mpr_peaks_take(peaks, &reader, path, &choice);
    mpr_reader_close(&reader);
    return 0;
}

/* ---- facts about a log */

/* Returns true if @less is smaller by at least a quarter and by MATTERS_BYTES. */
static bool is_less(uint64_t less, uint64_t more)
{
    enum { MATTERS_BYTES = 16 << 20 };
    return less < more / 4 * 3 && more - less >= MATTERS_BYTES;
}

bool mpr_peaks_rss_leads(const struct mpr_log_peaks *log)
{
    const uint64_t rss = log->rss_peak.bytes;
    uint64_t sum = 0;
    bool reserved = false;
    if (rss == MPF_UNKNOWN || log->devices) return false;
    for (size_t i = 0; i < log->heaps; i++) {
        const struct mpr_heap_peak *h = &log->heap[i];
        if (h->inside || h->nested) continue;
        sum += h->peak_bytes;
        reserved |= is_less(rss, h->peak_bytes) || is_less(h->sampled.bytes, h->peak_bytes);
    }
    return reserved || is_less(sum, rss);
}

bool mpr_peaks_has_torch(const struct mpr_log_peaks *log)
{
    for (size_t i = 0; i < log->heaps; i++)
        if (mpr_heap_is_torch(log->heap[i].heap)) return true;
    return false;
}

const struct mpr_heap_peak *mpr_peaks_heap(const struct mpr_log_peaks *log, uint8_t heap)
{
    for (size_t i = 0; i < log->heaps; i++)
        if (log->heap[i].heap == heap) return &log->heap[i];
    return NULL;
}

/* ---- the process tree */

MPR_COMPARE(by_size, struct mpr_log_peaks,
            mpr_compare(b->peak_bytes, a->peak_bytes) ?: strcmp(a->summary.path, b->summary.path))

void mpr_peaks_find_processes(struct mpr_peaks *peaks)
{
    const struct mpr_summary **log = mpr_alloc(peaks->logs, sizeof *log);
    struct mpr_process_tree *kin = mpr_alloc(peaks->logs, sizeof *kin);
    for (size_t i = 0; i < peaks->logs; i++) log[i] = &peaks->log[i].summary;
    mpr_process_tree_find(log, peaks->logs, kin);
    for (size_t i = 0; i < peaks->logs; i++) {
        peaks->log[i].parent = kin[i].parent == MPR_NO_PROCESS ? -1 : (long)kin[i].parent;
        if (kin[i].previous_program != MPR_NO_PROCESS)
            peaks->log[kin[i].previous_program].executed = (long)i;
    }
    for (size_t i = 0; i < peaks->logs; i++) {
        size_t last = i;
        while (peaks->log[last].executed >= 0) last = (size_t)peaks->log[last].executed;
        peaks->log[i].process = last;
        peaks->log[i].process_rss = MPF_UNKNOWN;
    }
    free(log);
    free(kin);
}

/* The programs of one process run one after the other, so the largest of their peaks counts. */
void mpr_peaks_finish(struct mpr_peaks *peaks)
{
    if (!peaks->logs) return;
    qsort(peaks->log, peaks->logs, sizeof *peaks->log, by_size);
    mpr_peaks_find_processes(peaks);
    for (const struct mpr_log_peaks *log = peaks->log; log < peaks->log + peaks->logs; log++) {
        struct mpr_log_peaks *process = &peaks->log[log->process];
        uint64_t peak = 0;
        for (size_t k = 0; k < log->heaps; k++)
            if (!log->heap[k].inside && !log->heap[k].nested) peak += log->heap[k].peak_bytes;
        if (peak > process->process_peak) process->process_peak = peak;
        if (log->rss_high != MPF_UNKNOWN &&
            (process->process_rss == MPF_UNKNOWN || log->rss_high > process->process_rss))
            process->process_rss = log->rss_high;
    }
    for (size_t i = 0; i < peaks->logs; i++) {
        const struct mpr_log_peaks *log = &peaks->log[i];
        if (log->process != i) continue;
        peaks->sum_of_peaks += log->process_peak;
        if (log->process_rss != MPF_UNKNOWN) peaks->sum_of_rss += log->process_rss;
    }
}

bool mpr_peaks_incomplete(const struct mpr_peaks *peaks)
{
    for (size_t i = 0; i < peaks->logs; i++)
        if (peaks->log[i].summary.incomplete) return true;
    return false;
}
