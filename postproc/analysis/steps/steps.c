#include "steps.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "peaks.h"
#include "places.h"

/* ---- who stands out */

struct ranked {
    int64_t value;
    size_t instance;
};

static int by_value(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    if (a->value != b->value) return a->value < b->value ? -1 : 1;
    return a->instance < b->instance ? -1 : 1;
}

struct middle {
    int64_t median, far; /* far: three times what the third quartile is above the median */
};

static struct middle middle_of(struct ranked *ranked, size_t count)
{
    qsort(ranked, count, sizeof *ranked, by_value);
    const struct ranked *median = &ranked[(count - 1) / 2];
    const int64_t spread = mpr_minus(ranked[3 * (count - 1) / 4].value, median->value);
    return (struct middle){ median->value, mpr_plus(spread, mpr_plus(spread, spread)) };
}

/* A value above it stands out; it is `least` above the median, or more. */
static int64_t bound_of(const struct middle *m, int64_t least)
{
    return mpr_plus(m->median, m->far > least ? m->far : least);
}

/* The nearest one to the median of which each block is known: of the part of a log that was folded
 * that is not so. */
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
        ranked[i] = (struct ranked){ mpr_amount(of[i].peak_bytes), i };
    const struct middle middle = middle_of(ranked, count);
    const int64_t bound =
        count < MPR_STEPS_LEAST ? INT64_MAX : bound_of(&middle, middle.median / 10);
    h->median_peak = (uint64_t)middle.median;
    h->median = whole_median(in, ranked, count);
    h->least_peak = UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        const uint64_t peak = of[i].peak_bytes;
        if (mpr_amount(peak) <= bound) {
            if (peak < h->least_peak) h->least_peak = peak;
            if (peak > h->most_peak) h->most_peak = peak;
            continue;
        }
        h->stands_out[i] |= MPR_STEPS_PEAK;
        if (!h->peaks_out++ || peak > of[h->worst_peak].peak_bytes) h->worst_peak = i;
    }
}

static int64_t kept_by(const struct mpr_instance_heap *h)
{
    return mpr_change(h->begin_bytes, h->end_bytes);
}

static void judge_kept(const struct mpr_instances *in, struct mpr_steps_heap *h,
                       struct ranked *ranked)
{
    const struct mpr_instance_heap *of = h->heap->of;
    size_t count = 0;
    for (size_t i = 0; i < in->instances; i++)
        if (!in->instance[i].unended) ranked[count++] = (struct ranked){ kept_by(&of[i]), i };
    if (!count) return;
    const struct middle middle = middle_of(ranked, count);
    const int64_t bound =
        count < MPR_STEPS_LEAST ? INT64_MAX : bound_of(&middle, mpr_amount(h->median_peak / 10));
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

/* The largest heap that is no part of another one; PyTorch's blocks rather than the segments that
 * they lie in. */
static size_t leading(const struct mpr_instances *in)
{
    size_t first = 0;
    while (first + 1 < in->heaps && in->heap[first].inside) first++;
    const uint8_t torch = mpr_heap_torch_of(in->heap[first].heap);
    for (size_t i = 0; torch && i < in->heaps; i++)
        if (in->heap[i].heap == torch) return i;
    return first;
}

/* The leading heap, unless an instance stands out in another one only, by a tenth of what the
 * leading one has or more. */
static size_t shown(struct mpr_steps *s)
{
    const size_t first = leading(&s->instances);
    size_t most = first;
    if (s->heap[first].peaks_out) return first;
    for (size_t i = 0; i < s->instances.heaps; i++)
        if (!s->heap[i].heap->inside && excess(&s->heap[i]) > excess(&s->heap[most])) most = i;
    return excess(&s->heap[most]) >= s->heap[first].median_peak / 10 ? most : first;
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

/* The path with the repeated range as all of its instances have it. */
static struct mpr_path common_path(struct mpr_frame_copies *copies, const struct mpr_instances *in,
                                   const struct mpr_row *row)
{
    struct mpr_arena *arena = copies->arena;
    const struct mpr_path copy = mpr_frame_copy_path(copies, row->path);
    bool inside = copy.depth >= in->path.depth;
    for (size_t i = 0; inside && i < in->path.depth; i++)
        inside =
            mpr_frame_compare(mpr_unnumbered_frame(arena, copy.frame[i]), in->path.frame[i]) == 0;
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

static int by_path(const void *left, const void *right)
{
    const struct mpr_steps_row *a = left, *b = right;
    return mpr_frame_compare_paths(a->path, b->path);
}

static int by_difference(const void *left, const void *right)
{
    const struct mpr_steps_row *a = left, *b = right;
    const int64_t x = llabs(mpr_change(a->median, a->here)),
                  y = llabs(mpr_change(b->median, b->here));
    if (x != y) return x > y ? -1 : 1;
    return by_path(a, b);
}

/* Rows of one path become one; those that do not differ go. */
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

/* Who held the heap at an instance's peak. */
static int read_peak(const struct mpr_steps *s, size_t instance, enum mpr_group by,
                     const struct mpr_choice *choice, struct mpr_peaks *peaks, const char *path,
                     const struct mpr_progress *progress, struct mpr_error *error)
{
    const struct mpr_instances_heap *heap = &s->instances.heap[s->shown];
    const struct mpr_peaks_options options = { .by = by,
                                               .choice = choice,
                                               .heap = heap->heap,
                                               .only_then = true,
                                               .at = MPR_INSTANT_AT(heap->of[instance].peak_time) };
    mpr_peaks_init(peaks, &options);
    return mpr_peaks_add(peaks, path, progress, error);
}

/* Of the rows those that the instance holds more of, or those that it holds less of. */
static struct mpr_row *apart(struct mpr_arena *arena, const struct mpr_steps_comparison *c,
                             bool more, size_t *rows)
{
    struct mpr_row *row = mpr_arena_alloc(arena, c->rows * sizeof *row);
    *rows = 0;
    for (size_t i = 0; i < c->rows; i++) {
        const struct mpr_steps_row *r = &c->row[i];
        if ((r->here > r->median) != more) continue;
        row[(*rows)++] = (struct mpr_row){
            .path = r->path,
            .bytes = more ? r->here - r->median : r->median - r->here,
            .blocks = more ? mpr_less(r->blocks_here, r->blocks_median)
                           : mpr_less(r->blocks_median, r->blocks_here),
            .estimated = r->estimated,
        };
    }
    return row;
}

static void fill_comparison(struct mpr_steps *s, struct mpr_steps_comparison *c,
                            const struct mpr_log_peaks *here, const struct mpr_heap_peak *median)
{
    const size_t rows = here->heap->rows + median->rows;
    c->choice = here->choice;
    c->choice.source = mpr_arena_text(&s->instances.arena, c->choice.source);
    c->row = mpr_arena_alloc(&s->instances.arena, rows * sizeof *c->row);
    struct mpr_steps_row *end = add_rows(s, here->heap, true, c->row);
    end = add_rows(s, median, false, end);
    c->rows = (size_t)(end - c->row);
    merge(c);
    c->more = apart(&s->instances.arena, c, true, &c->mores);
    c->less = apart(&s->instances.arena, c, false, &c->lesses);
}

static int compare(struct mpr_steps *s, struct mpr_steps_comparison *c, const char *path,
                   enum mpr_group by, const struct mpr_choice *choice,
                   const struct mpr_progress *progress, struct mpr_error *error)
{
    const struct mpr_steps_heap *h = &s->heap[s->shown];
    struct mpr_peaks here, median = { .logs = 0 };
    c->instance = h->worst_peak;
    c->median = h->median;
    int status = read_peak(s, c->instance, by, choice, &here, path, progress, error);
    if (status == 0)
        status = read_peak(s, c->median, by, &here.log[0].choice, &median, path, progress, error);
    if (status == 0) fill_comparison(s, c, &here.log[0], &median.log[0].heap[0]);
    mpr_peaks_free(&here);
    mpr_peaks_free(&median);
    return status;
}

static int compare_all(struct mpr_steps *s, const char *path,
                       const struct mpr_steps_options *options, const struct mpr_progress *progress,
                       struct mpr_error *error)
{
    if (compare(s, &s->comparison, path, options->by, options->choice, progress, error) != 0)
        return -1;
    s->compared = true;
    const enum mpr_group calls = s->comparison.choice.calls;
    if (!mpr_group_is_calls(calls)) return 0;
    return compare(s, &s->calls, path, calls, NULL, progress, error);
}

int mpr_steps_read(struct mpr_steps *out, const char *path, const struct mpr_steps_options *options,
                   const struct mpr_progress *progress, struct mpr_error *error)
{
    *out = (struct mpr_steps){ .shown = 0 };
    int status = 0;
    if (options->known) out->instances = *options->known;
    else status = mpr_instances_read(&out->instances, path, &options->instances, progress, error);
    if (status != 0 || !out->instances.heaps) return status;
    judge(out);
    if (out->heap[out->shown].peaks_out) status = compare_all(out, path, options, progress, error);
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
