#include "leaks.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "bisect.h"
#include "error.h"
#include "history.h"
#include "leaks_sites.h"
#include "mpf/event.h"
#include "prescan.h"
#include "reader.h"
#include "repeats.h"
#include "survivors.h"
#include "trend.h"
#include "units.h"

enum { TICKS = 48 }; /* clock ticks in a log, if no range repeats */

/* The observers of the replay. */
struct reading {
    const struct mpr_leaks *out;
    struct mpr_history history;
    uint64_t *ended; /* ns: ends of instances */
    size_t endings, cap;
    struct mpr_named_ranges named;
    struct mpr_follow follow;
    struct mpr_survivors survivors;
};

/* The sources of sites by one grouping. */
struct making {
    struct mpr_leaks *out;
    struct reading *reading;
    const struct mpr_reader *reader;
    const struct mpr_projection *projection;
    struct mpr_history_view view;
};

/* ---- instants */

static void ends(void *arg, const struct mpr_replay *r, const struct mpr_followed *f, bool ended)
{
    struct reading *g = arg;
    (void)f;
    if (!ended || r->now < *g->history.from || r->now > g->history.until) return;
    mpr_history_take(&g->history, r->now);
    MPR_GROW(g->ended, g->endings, g->cap);
    g->ended[g->endings++] = r->now;
}

static void begin(struct reading *g, struct mpr_reader *reader)
{
    mpr_named_ranges_begin(&g->named, g->out->range, NULL);
    mpr_history_begin(&g->history, &reader->replay, g->out->every, g->out->until);
    /* blocks are missing from the thinned part of a log */
    g->history.from = &mpr_log_status(reader->log)->fold.until_ns;
    if (g->out->every) return;
    g->follow = (struct mpr_follow){
        .what = mpr_named_ranges_which, .ranges = &g->named, .ends = ends, .arg = g
    };
    mpr_follow_begin(&g->follow, &reader->replay);
}

/* ---- sites that only load */

static bool starts_with(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool loads_code(const struct mpr_frame *frame)
{
    static const char *const loader[] = { "dlopen",        "dl_open_worker",      "cuModuleLoad",
                                          "cuLibraryLoad", "cuModuleGetFunction", "cuLibraryGet" };
    for (size_t i = 0; i < sizeof loader / sizeof *loader; i++)
        if (starts_with(frame->name, loader[i])) return true;
    return false;
}

/* Python's import runs the bodies of modules below its own frames. */
bool mpr_startup_loads(const struct mpr_row *row)
{
    bool imports = false;
    for (size_t i = 0; i < row->path.depth; i++) {
        const struct mpr_frame *frame = row->path.frame[i];
        const bool importer = starts_with(frame->file, "<frozen importlib");
        if (loads_code(frame)) return true;
        imports = importer || (imports && strcmp(frame->name, "<module>") == 0);
    }
    return imports;
}

void mpr_startup_leave_out(struct mpr_leaks_heap *h)
{
    size_t kept = 0;
    for (size_t i = 0; i < h->growing.rows; i++)
        if (!mpr_startup_loads(&h->growing.row[i].row)) h->growing.row[kept++] = h->growing.row[i];
    h->growing.rows = kept;
}

/* ---- ages */

/* Returns the instances that ended at that time or later, up to the last instant. */
static uint64_t steps_since(const struct mpr_leaks *l, uint64_t time)
{
    const size_t earlier = MPR_COUNT_FIRST(i, l->endings, l->ended[i] < time);
    return *l->range ? l->endings - earlier : MPR_NO_AGE;
}

struct mpr_leaks_age mpr_leaks_age(const struct mpr_leaks *l, const struct mpr_ages *made)
{
    if (!made->blocks)
        return (struct mpr_leaks_age){ MPR_NO_AGE, MPR_NO_AGE, MPR_NO_AGE, MPR_NO_AGE };
    const uint64_t oldest = made->made[0], median = mpr_ages_median(made);
    return (struct mpr_leaks_age){ .oldest_ns = mpr_saturating_sub(l->last_ns, oldest),
                                   .median_ns = mpr_saturating_sub(l->last_ns, median),
                                   .oldest_steps = steps_since(l, oldest),
                                   .median_steps = steps_since(l, median) };
}

/* ---- the result */

static int by_growth(const void *left, const void *right)
{
    const struct mpr_row *a = left, *b = right;
    const int order = mpr_compare(b->bytes, a->bytes) ?: mpr_compare(b->live_bytes, a->live_bytes);
    return order ? order : mpr_row_by_path(a, b);
}

/* Returns the list for the rows of a site, which depends on its trend. */
static struct mpr_leaks_rows *list_of(struct mpr_leaks_heap *heap, const struct mpr_trend *t)
{
    switch (t->as) {
    case MPR_TREND_GROWS: return &heap->growing;
    case MPR_TREND_LEVELLED: return &heap->levelled;
    default: return &heap->few;
    }
}

static const struct mpr_ages *ages_of(const struct making *m, const struct mpr_leaks_sites *s)
{
    struct mpr_arena *arena = &m->out->arena;
    struct mpr_ages *of_cell = mpr_arena_alloc(arena, s->cells * sizeof *of_cell),
                    *made = mpr_arena_alloc(arena, s->count * sizeof *made);
    mpr_ages_of(arena, &m->reading->history.lasting, m->projection, s->cell, s->cells, of_cell);
    for (size_t i = 0; i < s->count; i++) {
        const struct mpr_leaks_site *site = &s->at[i];
        made[i] = site->cells == 1 ? of_cell[site->first]
                                   : mpr_ages_join(arena, &of_cell[site->first], site->cells);
    }
    return made;
}

static struct mpr_row row_of(const struct making *m, const struct mpr_leaks_sites *s,
                             const struct mpr_leaks_site *site)
{
    const struct mpr_replay *r = &m->reader->replay;
    const uint32_t *cell = &s->cell[site->first];
    struct mpr_row row = { .bytes = site->trend.by.bytes,
                           .blocks = site->trend.by.blocks,
                           .live_bytes = site->live.bytes,
                           .live_blocks = site->live.blocks };
    for (size_t i = 0; i < site->cells; i++) {
        row.counted |= mpr_counted_totals_is(&r->totals, &r->accounts, &r->accounts.cell[cell[i]]);
        row.estimated |= row.counted || mpr_history_is_estimate(&m->view, cell[i]);
    }
    row.path = mpr_leaks_site_path(&m->out->arena, s, site, m->reading->named.repeats, m->reader);
    return row;
}

/* Fills the lists of sites. @heap_of: by code of the heap, or NULL if it is not reported. */
static void fill_rows(const struct making *m, struct mpr_leaks_heap *const *heap_of)
{
    struct mpr_leaks_sites s;
    bool wanted[MPR_HEAPS];
    for (int i = 0; i < MPR_HEAPS; i++) wanted[i] = heap_of[i] != NULL;
    mpr_leaks_sites_find(&s, &m->view, m->reading->named.repeats, m->reader, wanted,
                         &m->out->arena);
    const struct mpr_ages *made = ages_of(m, &s);
    for (size_t i = 0; i < s.count; i++) list_of(heap_of[s.at[i].heap], &s.at[i].trend)->rows++;
    for (size_t i = 0; i < s.count; i++) {
        const struct mpr_leaks_site *site = &s.at[i];
        struct mpr_leaks_rows *list = list_of(heap_of[site->heap], &site->trend);
        if (!list->row) {
            list->row = mpr_arena_alloc(&m->out->arena, list->rows * sizeof *list->row);
            list->rows = 0;
        }
        list->row[list->rows++] = (struct mpr_leaks_row){ .row = row_of(m, &s, site),
                                                          .error = (uint64_t)site->trend.error,
                                                          .samples = site->trend.by.live,
                                                          .made = made[i],
                                                          .age = mpr_leaks_age(m->out, &made[i]) };
    }
    mpr_leaks_sites_free(&s);
}

static void sort(struct mpr_leaks_rows *list)
{
    if (list->rows) qsort(list->row, list->rows, sizeof *list->row, by_growth);
}

/* Fills the growth of a whole heap.  If blocks are only counted from time to time, a count shows
 * most of the changes since the previous one.  So the tested instants have a count between them. */
static void fill_growth(struct mpr_leaks_heap *heap, const struct mpr_history *h, unsigned code,
                        bool is_counted)
{
    enum { COUNTED_NS = 200000000 }; /* there are ten a second */
    struct mpr_history_value value[MPR_HISTORY_MAX];
    const struct mpr_history_value *from = &h->at[mpr_trend_warm(h->count)].heap[code],
                                   *to = &h->at[h->count - 1].heap[code];
    uint64_t next = 0;
    size_t count = 0;
    for (size_t i = 0; i < h->count; i++) {
        if (h->at[i].time < next) continue;
        next = h->at[i].time + (is_counted ? COUNTED_NS : 0);
        value[count++] = h->at[i].heap[code];
    }
    heap->grown_bytes = mpr_signed_difference(from->bytes, to->bytes);
    heap->grown_blocks = mpr_signed_difference(from->blocks, to->blocks);
    heap->grows = count >= MPR_LEAKS_LEAST && mpr_trend(value, count).as == MPR_TREND_GROWS;
}

/* Returns true if no range and no --every says when growth is measured. */
static bool is_default_clock(const struct mpr_leaks *out)
{
    return !*out->range && !out->options.every;
}

/* Fills the sites of heaps from the finished replay, by a grouping that it has been projected to.
 * @heap: as out->heap. */
static void fill_sites(struct mpr_leaks *out, struct reading *g, const struct mpr_reader *reader,
                       const struct mpr_projection *projection, struct mpr_leaks_heap *heap)
{
    struct making m = { out, g, reader, projection, { .history = NULL } };
    struct mpr_leaks_heap *heap_of[MPR_HEAPS] = { NULL };
    const size_t heaps = out->peaks.log[0].heaps;
    for (size_t i = 0; i < heaps; i++) heap_of[heap[i].live->heap] = &heap[i];
    mpr_history_view(&m.view, &g->history, projection);
    fill_rows(&m, heap_of);
    mpr_history_view_free(&m.view);
    for (size_t i = 0; i < heaps; i++) {
        sort(&heap[i].growing);
        sort(&heap[i].levelled);
        sort(&heap[i].few);
        if (is_default_clock(out)) mpr_startup_leave_out(&heap[i]);
    }
}

/* Fills the instants, and the ends of instances up to the last one. */
static void fill_instants(struct mpr_leaks *out, const struct reading *g)
{
    const struct mpr_history *h = &g->history;
    const size_t warm = mpr_trend_warm(h->count);
    out->instants = h->taken;
    out->kept = h->count;
    if (h->count < MPR_LEAKS_LEAST) return;
    out->warm_number = h->at[warm].number;
    out->warm_ns = h->at[warm].time;
    out->last_number = h->at[h->count - 1].number;
    out->last_ns = h->at[h->count - 1].time;
    out->is_too_short = is_default_clock(out) && out->last_ns - out->warm_ns < MPR_STARTUP_NS;
    if (!*out->range) return;
    uint64_t *ended = mpr_arena_alloc(&out->arena, out->last_number * sizeof *ended);
    if (out->last_number) memcpy(ended, g->ended, out->last_number * sizeof *ended);
    out->ended = ended;
    out->endings = out->last_number;
}

static void fill(struct mpr_leaks *out, struct reading *g, struct mpr_reader *reader,
                 const char *path, const struct mpr_choice *choice)
{
    struct mpr_projection projection;
    mpr_peaks_init(&out->peaks, &(struct mpr_peaks_options){ .by = out->options.by,
                                                             .heap = out->options.heap,
                                                             .at = out->options.at });
    mpr_projection_begin(&projection, &reader->replay, choice->by, NULL);
    mpr_peaks_take(&out->peaks, reader, path, choice);
    fill_instants(out, g);
    const struct mpr_log_peaks *log = &out->peaks.log[0];
    out->heap = mpr_arena_alloc(&out->arena, log->heaps * sizeof *out->heap);
    for (size_t i = 0; i < log->heaps; i++) {
        const uint8_t code = log->heap[i].heap;
        out->heap[i] = (struct mpr_leaks_heap){ .live = &log->heap[i], .by = choice->by };
        if (mpr_leaks_has_growth(out))
            fill_growth(&out->heap[i], &g->history, code,
                        code == MPF_HEAP_HOST && reader->replay.totals.told);
    }
    if (mpr_leaks_has_growth(out)) fill_sites(out, g, reader, &projection, out->heap);
    mpr_projection_end(&projection, &reader->replay);
}

/* Returns true if call stacks name the site that grew most. If no site grows by any grouping, that
 * is the site that levelled off. */
static bool names_more(const struct mpr_leaks_heap *calls, const struct mpr_leaks_heap *heap)
{
    if (calls->growing.rows) return calls->growing.row[0].row.path.depth;
    return !heap->growing.rows && calls->levelled.rows && calls->levelled.row[0].row.path.depth;
}

/* A range shows which step grows, and a line of code shows why. If each step has another range,
 * none of these grows by itself. So if the log has call stacks of blocks that ranges name, growing
 * sites are named by their call stacks. */
static void fill_calls(struct mpr_leaks *out, struct reading *g, struct mpr_reader *reader,
                       enum mpr_group calls)
{
    const size_t heaps = out->peaks.log[0].heaps;
    struct mpr_projection projection;
    if (!mpr_leaks_has_growth(out)) return;
    struct mpr_leaks_heap *heap = mpr_arena_alloc(&out->arena, heaps * sizeof *heap);
    for (size_t i = 0; i < heaps; i++) {
        heap[i] = out->heap[i];
        heap[i].by = calls;
        heap[i].growing = heap[i].levelled = heap[i].few = (struct mpr_leaks_rows){ NULL, 0 };
    }
    mpr_projection_begin(&projection, &reader->replay, calls, NULL);
    fill_sites(out, g, reader, &projection, heap);
    mpr_projection_end(&projection, &reader->replay);
    for (size_t i = 0; i < heaps; i++)
        if (names_more(&heap[i], &out->heap[i])) out->heap[i] = heap[i];
}

/* ---- reading */

/* Chooses the instants, by the clock or by a range, and the last one. */
static void choose(struct mpr_leaks *out, const struct mpr_prescan *known, const char *path,
                   const struct mpr_progress *progress)
{
    const char *range = out->options.range ? out->options.range : known->range;
    out->every = out->options.every;
    if (!out->every && range) out->range = mpr_arena_text(&out->arena, range);
    if (out->options.at_end) out->options.at = MPR_INSTANT_END_OF(known->end_ns);
    out->until = out->options.at.to;
    if (*out->range) return;
    if (out->options.at_end)
        out->until = mpr_prescan_growth_end(known, out->options.heap, path, progress);
    else if (!out->every && known->end_ns < out->until) out->until = known->end_ns;
    if (!out->every) out->every = out->until / TICKS + 1;
}

static int no_instance(struct mpr_leaks *out, const struct reading *g, const char *path,
                       struct mpr_error *error)
{
    struct mpr_number time;
    const struct mpr_leaks_options *o = &out->options;
    if (!g->named.any)
        return mpr_fail(error, "%s: no range %s%s", path, o->range,
                        mpr_named_ranges_hint(&g->named, &out->arena));
    return mpr_fail(error, "%s: no instance of range %s had ended by %s", path, o->range,
                    mpr_units_time(&time, o->at.from));
}

/* ---- reading */

/* Returns true if the log has blocks whose call sites may grow by their own clocks.  An analysis
 * that knows the log's peaks already has looked for them itself. */
static bool has_sites(const struct mpr_leaks *out, const struct mpr_prescan *known)
{
    if (out->options.by != MPR_GROUP_AUTO || !out->options.at_end || out->options.known)
        return false;
    for (unsigned i = 0; i < MPR_HEAPS; i++)
        if (known->heap[i].peak_bytes && (mpf_heap_is_gpu((uint8_t)i) || i == MPF_HEAP_PINNED))
            return true;
    return false;
}

static int read_log(struct mpr_leaks *out, const struct mpr_prescan *known, const char *path,
                    const struct mpr_progress *progress, struct mpr_error *error)
{
    const bool is_auto = out->options.by == MPR_GROUP_AUTO, sites = has_sites(out, known),
               by_calls = is_auto && mpr_group_is_calls(known->choice.calls),
               by_place = by_calls || sites;
    const struct mpr_choice asked = { .by = out->options.by, .source = "" },
                            *choice = is_auto ? &known->choice : &asked;
    struct reading g = { .out = out };
    struct mpr_own_peaks own;
    struct mpr_reader reader;
    if (mpr_reader_open(&reader, path, by_place ? MPR_GROUP_PLACE : choice->by, out->options.at,
                        error) != 0)
        return -1;
    begin(&g, &reader);
    if (by_place) mpr_own_peaks_begin(&own, &reader.replay, choice->by);
    if (sites) mpr_survivors_begin(&g.survivors, &reader.replay);
    reader.repeats = mpr_repeats_watch(&reader.replay);
    int status = mpr_reader_replay(&reader, path, progress, error);
    if (status == 0) {
        mpr_history_end(&g.history);
        if (sites)
            out->site_growth =
                mpr_site_growth_find(&out->arena, &g.survivors, &reader, &out->site_growths);
        if (out->options.range && !g.history.taken) status = no_instance(out, &g, path, error);
        else fill(out, &g, &reader, path, choice);
        if (status == 0 && by_calls) fill_calls(out, &g, &reader, known->choice.calls);
        mpr_reader_close(&reader);
    }
    if (by_place) mpr_own_peaks_free(&own);
    mpr_history_free(&g.history);
    mpr_named_ranges_free(&g.named);
    mpr_survivors_free(&g.survivors);
    free(g.ended);
    return status;
}

int mpr_leaks_read(struct mpr_leaks *out, const char *path, const struct mpr_leaks_options *options,
                   const struct mpr_progress *progress, struct mpr_error *error)
{
    struct mpr_prescan known = { .range = NULL };
    int status = 0;
    *out = (struct mpr_leaks){ .options = *options, .range = "" };
    if (options->known) known = *options->known;
    else if (options->by == MPR_GROUP_AUTO || options->at_end ||
             !(options->every || options->range))
        status = mpr_prescan_read(&known, &out->arena, path, options->every, progress, error);
    if (status == 0) {
        choose(out, &known, path, progress);
        status = read_log(out, &known, path, progress, error);
    }
    out->options.known = NULL; /* it ends with this function */
    if (status != 0) mpr_leaks_free(out);
    return status;
}

void mpr_leaks_free(struct mpr_leaks *leaks)
{
    mpr_peaks_free(&leaks->peaks);
    mpr_arena_free(&leaks->arena);
}
