#include "leaks.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "error.h"
#include "history.h"
#include "instances.h"
#include "labels.h"
#include "mpf/event.h"
#include "repeats.h"

/* Where nothing repeats, growth is told by a clock of so many ticks. */
enum { TICKS = 48 };

struct reading {
    struct mpr_leaks *out;
    struct mpr_history history;
    struct mpr_repeats *repeats; /* for names */
    struct mpr_follow follow;
    uint8_t *is_range; /* by node: 0 not compared yet, 1 it is, 2 it is another one */
    uint32_t nodes;
};

/* ---- instants */

static uint32_t what(void *arg, const struct mpr_replay *r, uint32_t node)
{
    struct reading *g = arg;
    MPR_REACH(g->is_range, node, g->nodes);
    if (!g->is_range[node])
        g->is_range[node] = mpr_repeats_named(g->repeats, r, node, g->out->range) ? 1 : 2;
    return g->is_range[node] == 1;
}

static void begins(void *arg, const struct mpr_replay *r, struct mpr_followed *f)
{
    (void)arg, (void)r, (void)f;
}

static bool is_past(const struct mpr_leaks *l, uint64_t time)
{
    return !mpr_instant_is_peak(l->options.at) && time > l->options.at.to;
}

static void ends(void *arg, const struct mpr_replay *r, const struct mpr_followed *f, bool ended)
{
    struct reading *g = arg;
    (void)f;
    if (ended && !is_past(g->out, r->now)) mpr_history_take(&g->history, r->now);
}

static void release(struct reading *g)
{
    mpr_history_free(&g->history);
    mpr_repeats_free(g->repeats);
    free(g->is_range);
    g->is_range = NULL;
    g->nodes = 0;
    g->repeats = NULL;
}

/* A log may be read more than once. */
static void begin(void *arg, struct mpr_reader *reader)
{
    struct reading *g = arg;
    release(g);
    g->repeats = mpr_repeats_new();
    mpr_history_begin(&g->history, &reader->replay, g->out->every);
    if (g->out->every) return;
    g->follow = (struct mpr_follow){ .what = what, .begins = begins, .ends = ends, .arg = g };
    reader->replay.watch = (struct mpr_watch){ mpr_follow_see, &g->follow };
}

/* ---- what a site did */

struct judged {
    enum { OTHER, GROWING, LEVELLED } as;
    struct mpr_history_value by, live; /* by: how much it grew */
};

/* The instant that ends the warm-up. */
static size_t warm_of(const struct mpr_history *h) { return (h->count + 3) / 4 - 1; }

static uint64_t more(uint64_t from, uint64_t to) { return mpr_less(to, from); }

static bool is_growing(const struct mpr_history_value *v, size_t warm, size_t count)
{
    size_t grew = 0;
    for (size_t i = warm + 1; i < count; i++) {
        if (v[i].bytes < v[warm].bytes) return false;
        grew += v[i].bytes > v[i - 1].bytes;
    }
    return 10 * grew >= 9 * (count - 1 - warm);
}

static bool has_levelled(const struct mpr_history_value *v, size_t count)
{
    size_t newest = 0;
    for (size_t i = 1; i < count; i++)
        if (v[i].bytes != v[i - 1].bytes) newest = i;
    if (!newest || newest > count / 2) return false;
    return v[newest].bytes > v[newest - 1].bytes && v[newest].bytes > v[0].bytes;
}

static struct judged judge(const struct mpr_history *h, const struct mpr_history_value *v)
{
    const size_t warm = warm_of(h), last = h->count - 1;
    struct judged j = { .as = OTHER, .live = v[last] };
    size_t from = warm;
    if (is_growing(v, warm, h->count)) j.as = GROWING;
    else if (has_levelled(v, h->count)) {
        j.as = LEVELLED;
        from = 0;
    }
    j.by = (struct mpr_history_value){ more(v[from].bytes, v[last].bytes),
                                       more(v[from].blocks, v[last].blocks) };
    return j;
}

/* ---- the result */

static int by_growth(const void *left, const void *right)
{
    const struct mpr_row *a = left, *b = right;
    if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
    if (a->live_bytes != b->live_bytes) return a->live_bytes > b->live_bytes ? -1 : 1;
    for (size_t i = 0; i < a->depth && i < b->depth; i++) {
        const int order = strcmp(a->path[i], b->path[i]);
        if (order) return order;
    }
    return a->depth < b->depth ? -1 : a->depth > b->depth;
}

static void add_row(struct reading *g, const struct mpr_reader *reader, uint32_t cell,
                    const struct judged *j, struct mpr_leaks_heap *heap)
{
    const struct mpr_replay *r = &reader->replay;
    struct mpr_row *row =
        j->as == GROWING ? &heap->growing[heap->growings++] : &heap->levelled[heap->levelleds++];
    *row = (struct mpr_row){ .bytes = j->by.bytes,
                             .blocks = j->by.blocks,
                             .live_bytes = j->live.bytes,
                             .live_blocks = j->live.blocks,
                             .estimated =
                                 cell < r->estimates.cells && r->estimates.cell[cell].samples };
    row->path = mpr_label_path(&g->out->arena, reader, &r->books.cell[cell], &row->depth);
}

static void fill_heap(struct reading *g, const struct mpr_reader *reader, uint8_t code,
                      struct mpr_leaks_heap *heap)
{
    const struct mpr_books *books = &reader->replay.books;
    struct mpr_history_value value[MPR_HISTORY_MAX];
    const size_t warm = warm_of(&g->history), last = g->history.count - 1;
    size_t cells = 0;
    for (uint32_t i = 0; i < books->cells; i++) cells += books->cell[i].heap == code;
    heap->growing = mpr_arena_alloc(&g->out->arena, cells * sizeof *heap->growing);
    heap->levelled = mpr_arena_alloc(&g->out->arena, cells * sizeof *heap->levelled);
    for (uint32_t i = 0; i < books->cells; i++) {
        if (books->cell[i].heap != code) continue;
        mpr_history_values(&g->history, i, value);
        const struct judged j = judge(&g->history, value);
        heap->grown_bytes =
            mpr_plus(heap->grown_bytes, mpr_change(value[warm].bytes, value[last].bytes));
        heap->grown_blocks =
            mpr_plus(heap->grown_blocks, mpr_change(value[warm].blocks, value[last].blocks));
        if (j.as != OTHER && j.by.bytes) add_row(g, reader, i, &j, heap);
    }
    if (heap->growings) qsort(heap->growing, heap->growings, sizeof *heap->growing, by_growth);
    if (heap->levelleds) qsort(heap->levelled, heap->levelleds, sizeof *heap->levelled, by_growth);
}

static void end(void *arg, const struct mpr_reader *reader)
{
    struct reading *g = arg;
    struct mpr_leaks *out = g->out;
    const struct mpr_history *h = &g->history;
    const struct mpr_log_peaks *log = &out->peaks.log[0];
    out->heap = mpr_arena_alloc(&out->arena, log->heaps * sizeof *out->heap);
    out->instants = h->taken;
    out->kept = h->count;
    for (size_t i = 0; i < log->heaps; i++) out->heap[i].live = &log->heap[i];
    if (h->count < MPR_LEAKS_LEAST) return;
    out->warm_number = h->at[warm_of(h)].number;
    out->warm_ns = h->at[warm_of(h)].time;
    out->last_number = h->at[h->count - 1].number;
    out->last_ns = h->at[h->count - 1].time;
    for (size_t i = 0; i < log->heaps; i++)
        fill_heap(g, reader, (uint8_t)mpf_heap_named(log->heap[i].name), &out->heap[i]);
}

/* By what growth is told: the clock, or a range. */
static int choose(struct mpr_leaks *out, const char *path, const struct mpr_progress *progress,
                  struct mpr_error *error)
{
    const char *range = out->options.range;
    uint64_t end_ns;
    out->every = out->options.every;
    if (out->every) return 0;
    if (!range && mpr_instances_range(&range, &end_ns, &out->arena, path, progress, error) != 0)
        return -1;
    if (range) out->range = mpr_arena_text(&out->arena, range);
    else out->every = end_ns / TICKS + 1;
    return 0;
}

static int read_log(struct mpr_leaks *out, const char *path, const struct mpr_progress *progress,
                    struct mpr_error *error)
{
    struct reading *g = mpr_alloc(1, sizeof *g);
    const struct mpr_peaks_guest guest = { begin, end, g };
    const struct mpr_peaks_options options = {
        .by = out->options.by, .heap = out->options.heap, .at = out->options.at, .guest = &guest
    };
    g->out = out;
    mpr_peaks_init(&out->peaks, &options);
    int status = mpr_peaks_add(&out->peaks, path, progress, error);
    out->peaks.options.guest = NULL; /* it ends with this function */
    if (status == 0 && out->options.range && !g->history.taken)
        status = mpr_fail(error, "%s: no range %s", path, out->range);
    release(g);
    free(g);
    return status;
}

int mpr_leaks_read(struct mpr_leaks *out, const char *path, const struct mpr_leaks_options *options,
                   const struct mpr_progress *progress, struct mpr_error *error)
{
    *out = (struct mpr_leaks){ .options = *options, .range = "" };
    int status = choose(out, path, progress, error);
    if (status == 0) status = read_log(out, path, progress, error);
    if (status != 0) mpr_leaks_free(out);
    return status;
}

void mpr_leaks_free(struct mpr_leaks *leaks)
{
    mpr_peaks_free(&leaks->peaks);
    mpr_arena_free(&leaks->arena);
}
