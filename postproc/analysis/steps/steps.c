#include "steps.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "numbered_names.h"
#include "peaks.h"
#include "projection.h"
#include "reader.h"

/* ---- outliers */

struct ranked {
    int64_t value;
    size_t instance;
};

MPR_COMPARE(by_value, struct ranked,
            mpr_compare_signed(a->value, b->value) ?: mpr_compare(a->instance, b->instance))

struct middle {
    int64_t median, far; /* far: three times the distance from the median to the third quartile */
};

static struct middle middle_of(struct ranked *ranked, size_t count)
{
    qsort(ranked, count, sizeof *ranked, by_value);
    const struct ranked *median = &ranked[(count - 1) / 2];
    const int64_t spread = mpr_signed_sub(ranked[3 * (count - 1) / 4].value, median->value);
    return (struct middle){ median->value, mpr_signed_add(spread, mpr_signed_add(spread, spread)) };
}

/* Returns the bound of outliers, which is at least @min above the median. */
static int64_t bound_of(const struct middle *m, int64_t min)
{
    return mpr_signed_add(m->median, m->far > min ? m->far : min);
}

/* Returns the instance nearest to the median of which each block is known, so it is not in the
 * thinned part of the log. */
static size_t whole_median(const struct mpr_instances *in, const struct ranked *ranked,
                           size_t count)
{
    const size_t middle = (count - 1) / 2;
    for (size_t away = 0; away < count; away++)
        for (int side = -1; side <= 1; side += 2) {
            const size_t i = side < 0 ? middle - away : middle + away;
            if (i < count && in->instance[ranked[i].instance].begin_ns >= in->summary.fold.until_ns)
                return ranked[i].instance;
        }
    return ranked[middle].instance;
}

static void judge_peaks(const struct mpr_instances *in, struct mpr_steps_heap *h,
                        struct ranked *ranked, size_t count)
{
    const struct mpr_instance_heap *of = h->heap->of;
    for (size_t i = 0; i < count; i++)
        ranked[i] = (struct ranked){ mpr_saturating_signed(of[i].peak_bytes), i };
    const struct middle middle = middle_of(ranked, count);
    const int64_t bound =
        count < MPR_STEPS_LEAST ? INT64_MAX : bound_of(&middle, middle.median / 10);
    h->median_peak = (uint64_t)middle.median;
    h->median = whole_median(in, ranked, count);
    h->least_peak = UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        const uint64_t peak = of[i].peak_bytes;
        if (mpr_saturating_signed(peak) <= bound) {
            if (peak < h->least_peak) h->least_peak = peak;
            if (peak > h->most_peak) h->most_peak = peak;
            continue;
        }
        h->stands_out[i] |= MPR_STEPS_PEAK;
        if (!h->peaks_out++ || peak > of[h->worst_peak].peak_bytes) h->worst_peak = i;
    }
}

static void judge_kept(const struct mpr_instances *in, struct mpr_steps_heap *h,
                       struct ranked *ranked)
{
    const struct mpr_instance_heap *of = h->heap->of;
    size_t count = 0;
    for (size_t i = 0; i < in->instances; i++)
        if (!in->instance[i].unended)
            ranked[count++] =
                (struct ranked){ mpr_signed_difference(of[i].begin_bytes, of[i].end_bytes), i };
    if (!count) return;
    const struct middle middle = middle_of(ranked, count);
    const int64_t bound = count < MPR_STEPS_LEAST
                              ? INT64_MAX
                              : bound_of(&middle, mpr_saturating_signed(h->median_peak / 10));
    h->median_kept = middle.median;
    for (size_t i = 0; i < count; i++) {
        const size_t instance = ranked[i].instance;
        if (ranked[i].value <= bound) continue;
        h->stands_out[instance] |= MPR_STEPS_KEPT;
        h->worst_kept = instance; /* the largest comes last */
        h->kept_out++;
    }
}

static uint64_t excess(const struct mpr_steps_heap *h)
{
    return h->peaks_out ? h->heap->of[h->worst_peak].peak_bytes - h->median_peak : 0;
}

/* Returns the largest heap that is not part of another one, or PyTorch's blocks instead of the
 * segments that contain them. */
static size_t leading(const struct mpr_instances *in)
{
    size_t first = 0;
    while (first + 1 < in->heaps && in->heap[first].inside) first++;
    const uint8_t torch = mpr_heap_torch_of(in->heap[first].heap);
    for (size_t i = 0; torch && i < in->heaps; i++)
        if (in->heap[i].heap == torch) return i;
    return first;
}

/* Returns the leading heap, unless only another one has an outlier, whose excess is at least a
 * tenth of the leading heap's median peak. */
static size_t shown(struct mpr_steps *s)
{
    const size_t first = leading(&s->instances);
    size_t chosen = first;
    if (s->heap[first].peaks_out) return first;
    for (size_t i = 0; i < s->instances.heaps; i++)
        if (!s->heap[i].heap->inside && excess(&s->heap[i]) > excess(&s->heap[chosen])) chosen = i;
    return excess(&s->heap[chosen]) >= s->heap[first].median_peak / 10 ? chosen : first;
}

static void judge(struct mpr_steps *s)
{
    struct mpr_instances *in = &s->instances;
    struct ranked *ranked = mpr_alloc(in->instances, sizeof *ranked);
    s->heap = mpr_arena_alloc(&in->arena, in->heaps * sizeof *s->heap);
    for (size_t i = 0; i < in->heaps; i++) {
        struct mpr_steps_heap *h = &s->heap[i];
        h->heap = &in->heap[i];
        h->stands_out = mpr_arena_alloc(&in->arena, in->instances);
        judge_peaks(in, h, ranked, in->instances);
        judge_kept(in, h, ranked);
    }
    free(ranked);
    s->shown = shown(s);
}

/* ---- two peaks */

/* Returns the path with the repeated range without its number. */
static struct mpr_path common_path(struct mpr_frame_copies *copies, const struct mpr_instances *in,
                                   const struct mpr_row *row)
{
    struct mpr_arena *arena = copies->arena;
    const struct mpr_path copy = mpr_frame_copy_path(copies, row->path);
    bool inside = copy.depth >= in->path.depth;
    for (size_t i = 0; inside && i < in->path.depth; i++)
        inside = mpr_frame_compare(mpr_frame_without_numbers(arena, copy.frame[i]),
                                   in->path.frame[i]) == 0;
    if (!inside) return copy;
    const struct mpr_frame **path = mpr_arena_alloc(arena, copy.depth * sizeof *path);
    for (size_t i = 0; i < copy.depth; i++)
        path[i] = i < in->path.depth ? in->path.frame[i] : copy.frame[i];
    return (struct mpr_path){ path, copy.depth };
}

static struct mpr_steps_row *add_rows(struct mpr_steps *s, const struct mpr_heap_peak *peak,
                                      bool here, struct mpr_steps_row *next)
{
    struct mpr_frame_copies copies = { .arena = &s->instances.arena };
    for (size_t i = 0; i < peak->rows; i++, next++) {
        const struct mpr_row *row = &peak->row[i];
        next->path = common_path(&copies, &s->instances, row);
        *(here ? &next->here : &next->median) = row->bytes;
        *(here ? &next->blocks_here : &next->blocks_median) = row->blocks;
        next->estimated = row->estimated;
    }
    mpr_frame_copies_free(&copies);
    return next;
}

MPR_COMPARE(by_path, struct mpr_steps_row, mpr_frame_compare_paths(a->path, b->path))

static int by_difference(const void *left, const void *right)
{
    const struct mpr_steps_row *a = left, *b = right;
    const int64_t x = llabs(mpr_signed_difference(a->median, a->here)),
                  y = llabs(mpr_signed_difference(b->median, b->here));
    if (x != y) return x > y ? -1 : 1;
    return by_path(a, b);
}

/* Merges rows of the same path, and removes rows without a difference. */
static void merge(struct mpr_steps_comparison *c)
{
    size_t merged = 0, kept = 0;
    if (c->rows) qsort(c->row, c->rows, sizeof *c->row, by_path);
    for (size_t i = 0; i < c->rows; i++) {
        struct mpr_steps_row *last = &c->row[merged - !!merged];
        if (!merged || by_path(last, &c->row[i]) != 0) {
            c->row[merged++] = c->row[i];
            continue;
        }
        last->here += c->row[i].here;
        last->median += c->row[i].median;
        last->blocks_here += c->row[i].blocks_here;
        last->blocks_median += c->row[i].blocks_median;
        last->estimated |= c->row[i].estimated;
    }
    for (size_t i = 0; i < merged; i++)
        if (c->row[i].here != c->row[i].median) c->row[kept++] = c->row[i];
    c->rows = kept;
    if (kept) qsort(c->row, kept, sizeof *c->row, by_difference);
}

/* Separates the rows of which the instance holds more from those of which it holds less. */
static void separate(struct mpr_arena *arena, struct mpr_steps_comparison *c)
{
    c->more = mpr_arena_alloc(arena, c->rows * sizeof *c->more);
    c->less = mpr_arena_alloc(arena, c->rows * sizeof *c->less);
    for (size_t i = 0; i < c->rows; i++) {
        const struct mpr_steps_row *r = &c->row[i];
        const bool more = r->here > r->median;
        *(more ? &c->more[c->mores++] : &c->less[c->lesses++]) = (struct mpr_row){
            .path = r->path,
            .bytes = more ? r->here - r->median : r->median - r->here,
            .blocks = more ? mpr_saturating_sub(r->blocks_here, r->blocks_median)
                           : mpr_saturating_sub(r->blocks_median, r->blocks_here),
            .estimated = r->estimated,
        };
    }
}

static void fill_comparison(struct mpr_steps *s, struct mpr_steps_comparison *c,
                            struct mpr_reader *reader, const struct mpr_choice *choice,
                            const struct mpr_snapshot *here, const struct mpr_snapshot *median,
                            struct mpr_peaks *peaks)
{
    const struct mpr_steps_heap *h = &s->heap[s->shown];
    const struct mpr_snapshot *at[] = { here, median };
    struct mpr_heap_peak peak[2] = { { .rows = 0 } };
    struct mpr_projection projection;
    for (size_t i = 0; i < 2; i++) {
        mpr_projection_begin(&projection, &reader->replay, choice->by, at[i]);
        mpr_peaks_fill_rows(peaks, reader, h->heap->heap, &peak[i]);
        mpr_projection_end(&projection, &reader->replay);
    }
    c->instance = h->worst_peak;
    c->median = h->median;
    c->choice = *choice;
    c->choice.source = mpr_arena_text(&s->instances.arena, choice->source);
    c->row = mpr_arena_alloc(&s->instances.arena, (peak[0].rows + peak[1].rows) * sizeof *c->row);
    struct mpr_steps_row *end = add_rows(s, &peak[0], true, c->row);
    end = add_rows(s, &peak[1], false, end);
    c->rows = (size_t)(end - c->row);
    merge(c);
    separate(&s->instances.arena, c);
}

/* Reads the log up to both peaks. */
static int compare(struct mpr_steps *s, const char *path, enum mpr_group by,
                   const struct mpr_choice *best, const struct mpr_progress *progress,
                   struct mpr_error *error)
{
    const struct mpr_steps_heap *h = &s->heap[s->shown];
    const uint64_t here = h->heap->of[h->worst_peak].peak_time,
                   median = h->heap->of[h->median].peak_time;
    const bool is_auto = by == MPR_GROUP_AUTO;
    const struct mpr_choice asked = { .by = by, .source = "" }, *choice = is_auto ? best : &asked;
    const struct mpr_choice calls = { .by = choice->calls, .source = "" };
    struct mpr_snapshots snapshots = { .count = here == median ? 1 : 2, .heap = h->heap->heap };
    struct mpr_reader reader;
    snapshots.at[0].time = here < median ? here : median;
    snapshots.at[1].time = here < median ? median : here;
    if (mpr_reader_open(&reader, path, is_auto ? MPR_GROUP_PLACE : by,
                        MPR_INSTANT_AT(snapshots.at[0].time), error) != 0)
        return -1;
    mpr_snapshots_begin(&snapshots, &reader.replay);
    mpr_reader_end_early(&reader);
    const int status = mpr_reader_replay(&reader, path, progress, error);
    if (status == 0) {
        const struct mpr_snapshot *at_here = &snapshots.at[here > median],
                                  *at_median = &snapshots.at[median > here];
        struct mpr_peaks peaks; /* one for both, because frames live in its arena (labels.h) */
        mpr_peaks_init(&peaks, &(struct mpr_peaks_options){ .heap = h->heap->heap });
        fill_comparison(s, &s->comparison, &reader, choice, at_here, at_median, &peaks);
        s->compared = true;
        if (is_auto && mpr_group_is_calls(calls.by))
            fill_comparison(s, &s->calls, &reader, &calls, at_here, at_median, &peaks);
        mpr_peaks_free(&peaks);
        mpr_reader_close(&reader);
    }
    mpr_snapshots_free(&snapshots);
    return status;
}

int mpr_steps_read(struct mpr_steps *out, const char *path, const struct mpr_steps_options *options,
                   const struct mpr_progress *progress, struct mpr_error *error)
{
    struct mpr_choice choice = { .by = MPR_GROUP_RANGE, .source = "" };
    int status = 0;
    *out = (struct mpr_steps){ .shown = 0 };
    if (options->known) out->instances = *options->known;
    else
        status = mpr_instances_read(&out->instances, &choice, path, &options->instances, progress,
                                    error);
    if (status != 0 || !out->instances.heaps) return status;
    judge(out);
    if (out->heap[out->shown].peaks_out)
        status = compare(out, path, options->by, options->choice ? options->choice : &choice,
                         progress, error);
    if (status != 0) mpr_steps_free(out);
    return status;
}

const struct mpr_row *mpr_steps_cause(const struct mpr_steps *s)
{
    if (s->calls.mores && s->calls.more[0].path.depth) return &s->calls.more[0];
    if (s->comparison.mores && s->comparison.more[0].path.depth) return &s->comparison.more[0];
    return NULL;
}

void mpr_steps_free(struct mpr_steps *steps) { mpr_instances_free(&steps->instances); }
