#include "leaks.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "error.h"
#include "first_look.h"
#include "history.h"
#include "leaks_sites.h"
#include "mpf/event.h"
#include "named_ranges.h"
#include "reader.h"
#include "startup.h"
#include "teardown.h"
#include "trend.h"
#include "units.h"

/* Where nothing repeats, growth is told by a clock of so many ticks. */
enum { TICKS = 48 };

struct reading {
    struct mpr_leaks *out;
    struct mpr_history history;
    uint64_t *ended; /* ns: when instances did */
    size_t endings, cap;
    struct mpr_named_ranges named;
    struct mpr_follow follow;
};

/* ---- instants */

static uint32_t what(void *arg, const struct mpr_replay *r, uint32_t node)
{
    struct reading *g = arg;
    return mpr_named_ranges_which(&g->named, r, node);
}

static void begins(void *arg, const struct mpr_replay *r, struct mpr_followed *f)
{
    (void)arg, (void)r, (void)f;
}

static void ends(void *arg, const struct mpr_replay *r, const struct mpr_followed *f, bool ended)
{
    struct reading *g = arg;
    (void)f;
    if (!ended || r->now < *g->history.from || r->now > g->history.until) return;
    mpr_history_take(&g->history, r->now);
    MPR_GROW(g->ended, g->endings, g->cap);
    g->ended[g->endings++] = r->now;
}

static void release(struct reading *g)
{
    mpr_history_free(&g->history);
    free(g->ended);
    g->ended = NULL;
    g->endings = g->cap = 0;
    mpr_named_ranges_free(&g->named);
}

/* A log may be read more than once. */
static void begin(void *arg, struct mpr_reader *reader)
{
    struct reading *g = arg;
    release(g);
    mpr_named_ranges_begin(&g->named, g->out->range, NULL);
    mpr_history_begin(&g->history, &reader->replay, g->out->every, g->out->until);
    g->history.from = &mpr_log_status(reader->log)->fold.until_ns; /* what is thinned lacks blocks
                                                                    */
    if (g->out->every) return;
    g->follow = (struct mpr_follow){ .what = what, .begins = begins, .ends = ends, .arg = g };
    reader->replay.watch = (struct mpr_watch){ mpr_follow_see, &g->follow };
}

/* ---- ages */

/* Instances that ended at that time or later, up to the last instant. */
static uint64_t steps_since(const struct mpr_leaks *l, uint64_t time)
{
    size_t low = 0, high = l->endings;
    while (low < high) { /* the first of them */
        const size_t middle = low + (high - low) / 2;
        if (l->ended[middle] < time) low = middle + 1;
        else high = middle;
    }
    return *l->range ? l->endings - low : MPR_NO_AGE;
}

struct mpr_leaks_age mpr_leaks_age(const struct mpr_leaks *l, const struct mpr_ages *made)
{
    if (!made->blocks)
        return (struct mpr_leaks_age){ MPR_NO_AGE, MPR_NO_AGE, MPR_NO_AGE, MPR_NO_AGE };
    const uint64_t oldest = made->made[0], median = mpr_ages_median(made);
    return (struct mpr_leaks_age){ .oldest_ns = mpr_less(l->last_ns, oldest),
                                   .median_ns = mpr_less(l->last_ns, median),
                                   .oldest_steps = steps_since(l, oldest),
                                   .median_steps = steps_since(l, median) };
}

/* ---- the result */

static int by_growth(const void *left, const void *right)
{
    const struct mpr_row *a = left, *b = right;
    if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
    if (a->live_bytes != b->live_bytes) return a->live_bytes > b->live_bytes ? -1 : 1;
    return mpr_row_by_path(a, b);
}

/* Sites that grow, or levelled off. */
struct found {
    struct mpr_leaks_sites sites;
    struct mpr_leaks_heap *heap[MPR_HEAPS]; /* by code; NULL: not wanted */
};

/* Where the rows of a site belong, and how many there are: sites have one of three trends. */
static struct mpr_leaks_row **list_of(struct mpr_leaks_heap *heap, const struct mpr_trend *t,
                                      size_t **rows)
{
    switch (t->as) {
    case MPR_TREND_GROWS: *rows = &heap->growings; return &heap->growing;
    case MPR_TREND_LEVELLED: *rows = &heap->levelleds; return &heap->levelled;
    default: *rows = &heap->fews; return &heap->few;
    }
}

static void find(struct found *f, struct reading *g, const struct mpr_reader *reader)
{
    bool wanted[MPR_HEAPS];
    for (int i = 0; i < MPR_HEAPS; i++) wanted[i] = f->heap[i] != NULL;
    mpr_leaks_sites_find(&f->sites, &g->history, g->named.repeats, reader, wanted);
    for (size_t i = 0; i < f->sites.count; i++) {
        const struct mpr_leaks_site *site = &f->sites.at[i];
        size_t *rows;
        if (list_of(f->heap[site->heap], &site->trend, &rows)) ++*rows;
    }
}

/* By site. */
static const struct mpr_ages *ages_of(struct reading *g, const struct found *f)
{
    const struct mpr_leaks_sites *s = &f->sites;
    struct mpr_ages *of_cell = mpr_arena_alloc(&g->out->arena, s->cells * sizeof *of_cell),
                    *made = mpr_arena_alloc(&g->out->arena, s->count * sizeof *made);
    mpr_ages_of(&g->out->arena, &g->history.lasting, s->cell, s->cells, of_cell);
    for (size_t i = 0; i < s->count; i++) {
        const struct mpr_leaks_site *site = &s->at[i];
        made[i] = site->cells == 1
                      ? of_cell[site->first]
                      : mpr_ages_join(&g->out->arena, &of_cell[site->first], site->cells);
    }
    return made;
}

static bool is_estimated(const struct reading *g, const struct mpr_replay *r, uint32_t cell)
{
    return mpr_history_is_estimate(&g->history, cell) ||
           mpr_totals_is(&r->totals, &r->books, &r->books.cell[cell]);
}

static struct mpr_row row_of(struct reading *g, const struct mpr_reader *reader,
                             const struct found *f, const struct mpr_leaks_site *site)
{
    const uint32_t *cell = &f->sites.cell[site->first];
    struct mpr_row row = { .bytes = site->trend.by.bytes,
                           .blocks = site->trend.by.blocks,
                           .live_bytes = site->live.bytes,
                           .live_blocks = site->live.blocks };
    for (size_t i = 0; i < site->cells; i++)
        row.estimated |= is_estimated(g, &reader->replay, cell[i]);
    row.path = mpr_leaks_site_path(&g->out->arena, &f->sites, site, g->named.repeats, reader);
    return row;
}

static void fill_rows(struct reading *g, const struct mpr_reader *reader, const struct found *f)
{
    const struct mpr_ages *made = ages_of(g, f);
    for (size_t i = 0; i < f->sites.count; i++) {
        const struct mpr_leaks_site *site = &f->sites.at[i];
        struct mpr_leaks_heap *heap = f->heap[site->heap];
        size_t *rows;
        struct mpr_leaks_row **list = list_of(heap, &site->trend, &rows),
                             *row = &(*list)[(*rows)++];
        row->row = row_of(g, reader, f, site);
        row->error = (uint64_t)site->trend.error;
        row->made = made[i];
        row->age = mpr_leaks_age(g->out, &made[i]);
    }
}

/* How many there are of each is known before their rows are. */
static void make_room(struct mpr_arena *arena, struct mpr_leaks_heap *heap)
{
    heap->growing = mpr_arena_alloc(arena, heap->growings * sizeof *heap->growing);
    heap->levelled = mpr_arena_alloc(arena, heap->levelleds * sizeof *heap->levelled);
    heap->few = mpr_arena_alloc(arena, heap->fews * sizeof *heap->few);
    heap->growings = heap->levelleds = heap->fews = 0;
}

static void sort_rows(struct mpr_leaks_heap *heap)
{
    if (heap->growings) qsort(heap->growing, heap->growings, sizeof *heap->growing, by_growth);
    if (heap->levelleds) qsort(heap->levelled, heap->levelleds, sizeof *heap->levelled, by_growth);
    if (heap->fews) qsort(heap->few, heap->fews, sizeof *heap->few, by_growth);
}

/* What a heap held at instants that are so far apart (ns). */
static size_t values_apart(const struct mpr_history *h, unsigned code, uint64_t least,
                           struct mpr_history_value *value)
{
    uint64_t next = 0;
    size_t count = 0;
    for (size_t i = 0; i < h->count; i++) {
        if (h->at[i].time < next) continue;
        next = h->at[i].time + least;
        value[count++] = h->at[i].heap[code];
    }
    return count;
}

/* The whole of a heap.  Where blocks are counted now and then only, most of what it does between
 * two countings is seen at the second: then instants are judged that have one between them. */
static void fill_growth(struct mpr_leaks_heap *heap, const struct mpr_history *h, unsigned code,
                        bool is_counted)
{
    enum { COUNTED_NS = 200000000 }; /* there are ten a second */
    struct mpr_history_value value[MPR_HISTORY_MAX];
    const struct mpr_history_value *from = &h->at[mpr_trend_warm(h->count)].heap[code],
                                   *to = &h->at[h->count - 1].heap[code];
    const size_t count = values_apart(h, code, is_counted ? COUNTED_NS : 0, value);
    heap->grown_bytes = mpr_change(from->bytes, to->bytes);
    heap->grown_blocks = mpr_change(from->blocks, to->blocks);
    heap->grows = count >= MPR_LEAKS_LEAST && mpr_trend(value, count).as == MPR_TREND_GROWS;
}

static void fill_heaps(struct reading *g, const struct mpr_reader *reader)
{
    const struct mpr_leaks *out = g->out;
    const size_t heaps = out->peaks.log[0].heaps;
    struct found found = { .heap = { NULL } };
    for (size_t i = 0; i < heaps; i++) {
        const unsigned code = out->heap[i].live->heap;
        found.heap[code] = &out->heap[i];
        fill_growth(&out->heap[i], &g->history, code,
                    code == MPF_HEAP_HOST && reader->replay.totals.told);
    }
    find(&found, g, reader);
    for (size_t i = 0; i < heaps; i++) make_room(&g->out->arena, &out->heap[i]);
    fill_rows(g, reader, &found);
    for (size_t i = 0; i < heaps; i++) sort_rows(&out->heap[i]);
    mpr_leaks_sites_free(&found.sites);
}

/* Those up to the last instant that is kept. */
static void fill_endings(struct reading *g)
{
    const size_t endings = *g->out->range ? g->out->last_number : 0;
    uint64_t *ended = mpr_arena_alloc(&g->out->arena, endings * sizeof *ended);
    if (endings) memcpy(ended, g->ended, endings * sizeof *ended);
    g->out->ended = ended;
    g->out->endings = endings;
}

/* Returns true if no range and no --every says when growth is measured. */
static bool is_default_clock(const struct mpr_leaks *out)
{
    return !*out->range && !out->options.every;
}

static void leave_out_startup(struct reading *g)
{
    for (size_t i = 0; i < g->out->peaks.log[0].heaps; i++) mpr_startup_leave_out(&g->out->heap[i]);
}

static void end(void *arg, const struct mpr_reader *reader)
{
    struct reading *g = arg;
    struct mpr_leaks *out = g->out;
    const struct mpr_history *h = &g->history;
    mpr_history_end(&g->history);
    const struct mpr_log_peaks *log = &out->peaks.log[0];
    out->heap = mpr_arena_alloc(&out->arena, log->heaps * sizeof *out->heap);
    out->instants = h->taken;
    out->kept = h->count;
    for (size_t i = 0; i < log->heaps; i++)
        out->heap[i] = (struct mpr_leaks_heap){ .live = &log->heap[i] };
    if (h->count < MPR_LEAKS_LEAST) return;
    const size_t warm = mpr_trend_warm(h->count);
    out->warm_number = h->at[warm].number;
    out->warm_ns = h->at[warm].time;
    out->last_number = h->at[h->count - 1].number;
    out->last_ns = h->at[h->count - 1].time;
    out->is_too_short = is_default_clock(out) && out->last_ns - out->warm_ns < MPR_STARTUP_NS;
    if (out->is_too_short) return;
    fill_endings(g);
    fill_heaps(g, reader);
    if (is_default_clock(out)) leave_out_startup(g);
}

/* ---- two readings */

static bool is_known(const struct mpr_leaks_options *o)
{
    return o->by != MPR_GROUP_AUTO && !o->at_end && (o->every || o->range);
}

/* Of those that are reported the one with the largest peak. */
static const struct mpr_first_heap *largest_heap(const struct mpr_leaks *out,
                                                 const struct mpr_first_look *known)
{
    const struct mpr_first_heap *largest = &known->heap[0];
    if (out->options.heap) return &known->heap[out->options.heap];
    for (size_t i = 1; i < MPR_HEAPS; i++)
        if (known->heap[i].peak_bytes > largest->peak_bytes) largest = &known->heap[i];
    return largest;
}

/* Has it given back most of what it had in the log's last third?  Python takes a quarter of a short
 * run to give back what it leaked. */
static bool gives_back(const struct mpr_first_heap *h, const struct mpr_first_look *known)
{
    return h->end_bytes < h->peak_bytes / 2 && h->peak_ns >= known->end_ns - known->end_ns / 3;
}

/* The last instants of the clock may be the end of the program, which frees its blocks.  So growth
 * is measured up to the peak of the largest heap, if the heap has lost half of that peak and the
 * peak is in the last third of the log.  The peak of a heap half as large that has lost as much
 * serves too: arenas of Python peak with the last one that was mapped, long before the objects in
 * them.  If the program still works after it has freed that much, growth is measured up to the end
 * of the log. */
static uint64_t before_its_end(const struct mpr_leaks *out, const struct mpr_first_look *known,
                               const char *path, const struct mpr_progress *progress)
{
    const struct mpr_first_heap *largest = largest_heap(out, known);
    uint64_t until = 0;
    unsigned last = 0;
    if (largest->end_bytes >= largest->peak_bytes / 2) return known->end_ns;
    for (unsigned i = 0; i < MPR_HEAPS; i++) {
        const struct mpr_first_heap *h = &known->heap[i];
        if (h->peak_bytes < largest->peak_bytes / 2 || !gives_back(h, known) || h->peak_ns <= until)
            continue;
        until = h->peak_ns;
        last = i;
    }
    return until && mpr_teardown_follows(known, last, path, progress) ? until : known->end_ns;
}

/* By what growth is told, the clock or a range, and until when. */
static void choose(struct mpr_leaks *out, const struct mpr_first_look *known, const char *path,
                   const struct mpr_progress *progress)
{
    const char *range = out->options.range ? out->options.range : known->grows;
    out->every = out->options.every;
    if (!out->every && range) out->range = mpr_arena_text(&out->arena, range);
    if (out->options.at_end) out->options.at = MPR_INSTANT_END_OF(known->end_ns);
    out->until = out->options.at.to;
    if (*out->range) return;
    if (out->options.at_end) out->until = before_its_end(out, known, path, progress);
    else if (!out->every && known->end_ns < out->until) out->until = known->end_ns;
    if (!out->every) out->every = out->until / TICKS + 1;
}

/* The range that was asked for never ended. */
static int no_instance(const struct reading *g, const char *path, struct mpr_error *error)
{
    struct mpr_number time;
    const struct mpr_leaks_options *o = &g->out->options;
    if (!g->named.any)
        return mpr_fail(error, "%s: no range %s%s", path, o->range,
                        mpr_named_ranges_hint(&g->named, &g->out->arena));
    return mpr_fail(error, "%s: no instance of range %s ended by %s", path, o->range,
                    mpr_units_time(&time, o->at.from));
}

static int read_log(struct mpr_leaks *out, const struct mpr_choice *choice, const char *path,
                    const struct mpr_progress *progress, struct mpr_error *error)
{
    struct reading *g = mpr_alloc(1, sizeof *g);
    const struct mpr_peaks_guest guest = { begin, end, g };
    const struct mpr_peaks_options options = { .by = out->options.by,
                                               .choice = choice,
                                               .heap = out->options.heap,
                                               .at = out->options.at,
                                               .guest = &guest };
    g->out = out;
    mpr_peaks_init(&out->peaks, &options);
    int status = mpr_peaks_add(&out->peaks, path, progress, error);
    out->peaks.options.guest = NULL; /* they end with this function */
    out->peaks.options.choice = NULL;
    if (status == 0 && out->options.range && !g->history.taken)
        status = no_instance(g, path, error);
    release(g);
    free(g);
    return status;
}

/* ---- by call stacks */

/* Do they name the site that grew most, or where nothing grows in either way, what levelled off? */
static bool names_more(const struct mpr_leaks_heap *calls, const struct mpr_leaks_heap *heap)
{
    if (calls->growings) return calls->growing[0].row.path.depth;
    return !heap->growings && calls->levelleds && calls->levelled[0].row.path.depth;
}

static void take_rows(struct mpr_leaks_heap *to, const struct mpr_leaks_heap *calls,
                      enum mpr_group by)
{
    to->by = by;
    to->growing = calls->growing;
    to->growings = calls->growings;
    to->levelled = calls->levelled;
    to->levelleds = calls->levelleds;
    to->few = calls->few;
    to->fews = calls->fews;
}

static const struct mpr_leaks_heap *heap_of(const struct mpr_leaks *l, uint8_t heap)
{
    for (size_t i = 0; i < l->peaks.log[0].heaps; i++)
        if (l->heap[i].live->heap == heap) return &l->heap[i];
    return NULL;
}

/* A range tells which step grows, and a line of code what does; where each step has a range of its
 * own, none of these grows by itself.  So where ranges name blocks that have call stacks, too, what
 * grows is told by these. */
static int read_calls(struct mpr_leaks *out, const char *path, const struct mpr_first_look *known,
                      const struct mpr_progress *progress, struct mpr_error *error)
{
    const enum mpr_group by = out->peaks.log[0].choice.by, calls = known->choice.calls;
    for (size_t i = 0; i < out->peaks.log[0].heaps; i++) out->heap[i].by = by;
    if (out->options.by != MPR_GROUP_AUTO || out->kept < MPR_LEAKS_LEAST || out->is_too_short ||
        !mpr_group_is_calls(calls))
        return 0;
    struct mpr_leaks_options options = out->options;
    options.by = calls;
    options.known = known;
    struct mpr_leaks *l = mpr_alloc(1, sizeof *l);
    if (mpr_leaks_read(l, path, &options, progress, error) != 0) {
        free(l);
        return -1;
    }
    out->calls = l;
    for (size_t i = 0; i < out->peaks.log[0].heaps; i++) {
        const struct mpr_leaks_heap *heap = heap_of(l, out->heap[i].live->heap);
        if (heap && names_more(heap, &out->heap[i])) take_rows(&out->heap[i], heap, calls);
    }
    return 0;
}

int mpr_leaks_read(struct mpr_leaks *out, const char *path, const struct mpr_leaks_options *options,
                   const struct mpr_progress *progress, struct mpr_error *error)
{
    struct mpr_first_look known = { .range = NULL };
    int status = 0;
    *out = (struct mpr_leaks){ .options = *options, .range = "" };
    if (options->known) known = *options->known;
    else if (!is_known(options))
        status = mpr_first_look(&known, &out->arena, path, options->by, progress, error);
    out->options.known = NULL; /* it ends with this function */
    if (status == 0) {
        choose(out, &known, path, progress);
        status = read_log(out, &known.choice, path, progress, error);
    }
    if (status == 0) status = read_calls(out, path, &known, progress, error);
    if (status != 0) mpr_leaks_free(out);
    return status;
}

void mpr_leaks_free(struct mpr_leaks *leaks)
{
    if (leaks->calls) mpr_leaks_free(leaks->calls);
    free(leaks->calls);
    mpr_peaks_free(&leaks->peaks);
    mpr_arena_free(&leaks->arena);
}
