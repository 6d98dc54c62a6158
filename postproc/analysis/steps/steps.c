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

struct instance_value {
    int64_t value;
    size_t instance;
};

MPR_COMPARE(by_value, struct instance_value,
            mpr_compare_signed(a->value, b->value) ?: mpr_compare(a->instance, b->instance))

/* Marks the instances whose value exceeds the median by @min, and by three times the distance from
 * the median to the third quartile.  They are the last ones; returns their number. */
static size_t mark(struct mpr_steps_heap *h, const struct instance_value *sorted, size_t count,
                   int64_t min, uint8_t mark)
{
    const int64_t median = sorted[(count - 1) / 2].value,
                  spread = mpr_signed_sub(sorted[3 * (count - 1) / 4].value, median),
                  far = mpr_signed_add(spread, mpr_signed_add(spread, spread)),
                  bound = mpr_signed_add(median, far > min ? far : min);
    size_t outliers = 0;
    if (count < MPR_STEPS_LEAST) return 0;
    while (outliers < count && sorted[count - 1 - outliers].value > bound)
        h->outlier[sorted[count - ++outliers].instance] |= mark;
    return outliers;
}

/* Returns the instance nearest to the median that is not in the thinned part of the log, so that
 * all its blocks are known. */
static size_t whole_median(const struct mpr_instances *in, const struct instance_value *sorted,
                           size_t count)
{
    const size_t middle = (count - 1) / 2;
    for (size_t away = 0; away < count; away++)
        for (int side = -1; side <= 1; side += 2) {
            const size_t i = side < 0 ? middle - away : middle + away;
            if (i < count && in->instance[sorted[i].instance].begin_ns >= in->summary.fold.until_ns)
                return sorted[i].instance;
        }
    return sorted[middle].instance;
}

static void judge_heap(const struct mpr_instances *in, struct mpr_steps_heap *h,
                       struct instance_value *sorted)
{
    const struct mpr_instance_heap *of = h->heap->entry;
    size_t count = in->instances;
    for (size_t i = 0; i < count; i++)
        sorted[i] = (struct instance_value){ mpr_saturating_signed(of[i].peak_bytes), i };
    qsort(sorted, count, sizeof *sorted, by_value);
    const int64_t median = sorted[(count - 1) / 2].value;
    h->median_peak = (uint64_t)median;
    h->median = whole_median(in, sorted, count);
    h->peaks_out = mark(h, sorted, count, median / 10, MPR_STEPS_PEAK);
    h->least_peak = of[sorted[0].instance].peak_bytes;
    h->most_peak = of[sorted[count - 1 - h->peaks_out].instance].peak_bytes;
    for (size_t i = count - h->peaks_out; i < count; i++)
        if (i == count - h->peaks_out || sorted[i].value > sorted[i - 1].value)
            h->worst_peak = sorted[i].instance;
    count = 0;
    for (size_t i = 0; i < in->instances; i++)
        if (!in->instance[i].unended)
            sorted[count++] =
                (struct instance_value){ mpr_signed_difference(of[i].begin_bytes, of[i].end_bytes),
                                         i };
    if (!count) return;
    qsort(sorted, count, sizeof *sorted, by_value);
    h->median_kept = sorted[(count - 1) / 2].value;
    h->kept_out = mark(h, sorted, count, median / 10, MPR_STEPS_KEPT);
    if (h->kept_out) h->worst_kept = sorted[count - 1].instance;
}

static uint64_t excess(const struct mpr_steps_heap *h)
{
    return h->peaks_out ? h->heap->entry[h->worst_peak].peak_bytes - h->median_peak : 0;
}

/* Returns the largest heap that is not part of another one, or PyTorch's blocks instead of the
 * segments that contain them.  If that heap has no outlier, returns the heap with the largest one
 * if its excess is at least a tenth of the first heap's median peak. */
static size_t heap_to_show(const struct mpr_steps *s)
{
    const struct mpr_instances *in = &s->instances;
    size_t first = 0;
    while (first + 1 < in->heaps && in->heap[first].inside) first++;
    const uint8_t torch = mpr_heap_torch_of(in->heap[first].heap);
    for (size_t i = 0; torch && i < in->heaps; i++)
        if (in->heap[i].heap == torch) first = i;
    size_t chosen = first;
    if (s->heap[first].peaks_out) return first;
    for (size_t i = 0; i < in->heaps; i++)
        if (!in->heap[i].inside && excess(&s->heap[i]) > excess(&s->heap[chosen])) chosen = i;
    return excess(&s->heap[chosen]) >= s->heap[first].median_peak / 10 ? chosen : first;
}

static void judge(struct mpr_steps *s)
{
    struct mpr_instances *in = &s->instances;
    struct instance_value *sorted = mpr_alloc(in->instances, sizeof *sorted);
    s->heap = mpr_arena_alloc(&in->arena, in->heaps * sizeof *s->heap);
    for (size_t i = 0; i < in->heaps; i++) {
        s->heap[i].heap = &in->heap[i];
        s->heap[i].outlier = mpr_arena_alloc(&in->arena, in->instances);
        judge_heap(in, &s->heap[i], sorted);
    }
    free(sorted);
    s->shown = heap_to_show(s);
}

/* ---- two peaks */

/* Returns a row's path, in which the repeated range has no number. */
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

/* Separates the rows of which the instance holds more from those of which it holds less. */
static void separate(struct mpr_arena *arena, struct mpr_steps_comparison *c)
{
    const struct mpr_growth *g = &c->growth;
    c->more = mpr_arena_alloc(arena, g->rows * sizeof *c->more);
    c->less = mpr_arena_alloc(arena, g->rows * sizeof *c->less);
    for (const struct mpr_growth_row *r = g->row; r < g->row + g->rows; r++) {
        const bool more = r->after > r->before;
        *(more ? &c->more[c->mores++] : &c->less[c->lesses++]) = (struct mpr_row){
            .path = r->path,
            .bytes = (uint64_t)llabs(mpr_signed_sub(r->after, r->before)),
            .blocks = more ? mpr_saturating_sub(r->blocks_after, r->blocks_before)
                           : mpr_saturating_sub(r->blocks_before, r->blocks_after),
            .estimated = r->estimated,
        };
    }
}

static void fill_comparison(struct mpr_steps *s, struct mpr_steps_comparison *c,
                            struct mpr_reader *reader, const struct mpr_choice *choice,
                            const struct mpr_snapshot *const at[2], struct mpr_peaks *peaks)
{
    const struct mpr_steps_heap *h = &s->heap[s->shown];
    struct mpr_arena *arena = &s->instances.arena;
    struct mpr_heap_peak peak[2] = { { .rows = 0 } };
    struct mpr_projection projection;
    for (size_t i = 0; i < 2; i++) {
        mpr_projection_begin(&projection, &reader->replay, choice->by, at[i]);
        mpr_peaks_fill_rows(peaks, reader, h->heap->heap, &peak[i]);
        mpr_projection_end(&projection, &reader->replay);
    }
    *c = (struct mpr_steps_comparison){ .instance = h->worst_peak,
                                        .median = h->median,
                                        .choice = *choice };
    c->choice.source = mpr_arena_text(arena, choice->source);
    c->growth.row = mpr_arena_alloc(arena, (peak[0].rows + peak[1].rows) * sizeof *c->growth.row);
    struct mpr_frame_copies copies = { .arena = arena };
    for (size_t i = 0; i < 2; i++)
        for (const struct mpr_row *r = peak[i].row; r < peak[i].row + peak[i].rows; r++)
            c->growth.row[c->growth.rows++] = (struct mpr_growth_row){
                .path = common_path(&copies, &s->instances, r),
                .after = i ? 0 : mpr_saturating_signed(r->bytes),
                .blocks_after = i ? 0 : r->blocks,
                .before = i ? mpr_saturating_signed(r->bytes) : 0,
                .blocks_before = i ? r->blocks : 0,
                .estimated = r->estimated,
            };
    mpr_frame_copies_free(&copies);
    mpr_growth_end(&c->growth);
    separate(arena, c);
}

/* Reads the log up to both peaks. */
static int compare(struct mpr_steps *s, const char *path, enum mpr_group by,
                   const struct mpr_choice *best, const struct mpr_progress *progress,
                   struct mpr_error *error)
{
    const struct mpr_steps_heap *h = &s->heap[s->shown];
    const uint64_t here = h->heap->entry[h->worst_peak].peak_time,
                   median = h->heap->entry[h->median].peak_time;
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
    reader.replay.snapshots = &snapshots;
    mpr_reader_end_early(&reader);
    const int status = mpr_reader_replay(&reader, path, progress, error);
    if (status == 0) {
        const struct mpr_snapshot *at[] = { &snapshots.at[here > median],
                                            &snapshots.at[median > here] };
        struct mpr_peaks peaks; /* one for both, because frames live in its arena (labels.h) */
        mpr_peaks_init(&peaks, &(struct mpr_peaks_options){ .heap = h->heap->heap });
        fill_comparison(s, &s->comparison, &reader, choice, at, &peaks);
        if (is_auto && mpr_group_is_calls(calls.by))
            fill_comparison(s, &s->calls, &reader, &calls, at, &peaks);
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
