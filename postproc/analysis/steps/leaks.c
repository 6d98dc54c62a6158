/* Tests which call sites grow and which levelled off, at the instants of a history.
 *
 * If the program numbers the instances of a range, as in "request 7", each site is in one instance
 * and none grows by itself.  So sites that differ only in numbers are also tested together.  A
 * function that is called on many paths has a site for each path, with few samples each.  So
 * sampled sites that reports show as one line are tested together. */
#include "leaks.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "alloc_context.h"
#include "amount.h"
#include "bisect.h"
#include "error.h"
#include "history.h"
#include "labels.h"
#include "mpf/event.h"
#include "numbered_names.h"
#include "prescan.h"
#include "reader.h"
#include "repeats.h"
#include "survivors.h"
#include "units.h"
#include "user_frame.h"

/* The result for one or more cells together. */
struct tested {
    struct mpr_trend trend;
    struct mpr_history_value live; /* at the last instant */
    bool has_more_samples;         /* more live samples than at the end of the warm-up */
};

struct site {
    struct tested tested;
    struct mpr_path path;
    size_t first, cells; /* its cells are reading.cell[first] and following */
};

/* The observers of one replay, and the sites by the grouping to which it is projected. */
struct reading {
    struct mpr_leaks *out;
    struct mpr_reader reader;
    struct mpr_history history;
    uint64_t *ended; /* ns: ends of instances */
    size_t endings, ended_cap;
    struct mpr_named_ranges named;
    struct mpr_follow follow;
    struct mpr_survivors survivors;
    struct mpr_projection projection;
    struct mpr_history_view view;
    struct site *site;
    size_t sites, site_cap;
    struct mpr_ages_cell *cell; /* each cell is in one site at most */
    size_t cells, cell_cap;
};

/* ---- instants */

/* Called when an instance ends, and at the end of the log for those that did not. */
static void on_end(void *arg, const struct mpr_replay *r, const struct mpr_followed *f, bool ended)
{
    struct reading *g = arg;
    (void)f;
    if (!ended || r->now < *g->history.from || r->now > g->history.until) return;
    mpr_history_take(&g->history, r->now);
    MPR_GROW(g->ended, g->endings, g->ended_cap);
    g->ended[g->endings++] = r->now;
}

static void watch_instants(struct reading *g)
{
    struct mpr_replay *r = &g->reader.replay;
    mpr_named_ranges_begin(&g->named, g->out->range, NULL);
    mpr_history_begin(&g->history, r, g->out->every, g->out->until);
    /* the thinned part of a log has only some of the blocks */
    g->history.from = &mpr_log_status(g->reader.log)->fold.until_ns;
    if (g->out->every) return;
    g->follow = (struct mpr_follow){
        .number_of = mpr_named_ranges_which, .ranges = &g->named, .on_end = on_end, .arg = g
    };
    mpr_follow_begin(&g->follow, r);
}

/* Returns true if growth is measured by the clock in intervals that the user did not choose. */
static bool is_default_clock(const struct mpr_leaks *out)
{
    return !*out->range && !out->options.every;
}

/* Fills the instants, and the ends of the instances up to the last instant. */
static void fill_instants(struct mpr_leaks *out, const struct reading *g)
{
    const struct mpr_history *h = &g->history;
    const size_t warm = mpr_trend_warm(h->count);
    out->instants = h->instants;
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

/* ---- sites that only load code */

/* Python's import calls the bodies of modules: frames "<module>" below the importer's frames. */
bool mpr_startup_loads(const struct mpr_row *row)
{
    static const char *const loader[] = { "dlopen",        "dl_open_worker",      "cuModuleLoad",
                                          "cuLibraryLoad", "cuModuleGetFunction", "cuLibraryGet" };
    static const char importer[] = "<frozen importlib";
    bool imports = false;
    for (size_t i = 0; i < row->path.depth; i++) {
        const struct mpr_frame *frame = row->path.frame[i];
        for (size_t k = 0; k < sizeof loader / sizeof *loader; k++)
            if (strncmp(frame->name, loader[k], strlen(loader[k])) == 0) return true;
        imports = strncmp(frame->file, importer, strlen(importer)) == 0 ||
                  (imports && strcmp(frame->name, "<module>") == 0);
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

/* Returns how many instances ended at that time or later, up to the last instant. */
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

/* ---- sites */

static struct tested test(const struct reading *g, const uint32_t *cell, size_t cells)
{
    struct mpr_history_value value[MPR_HISTORY_MAX];
    const size_t instants = g->history.count;
    mpr_history_values(&g->view, cell, cells, value);
    const struct mpr_history_value *last = &value[instants - 1];
    return (struct tested){ mpr_trend(value, instants), *last,
                            last->live > value[mpr_trend_warm(instants)].live };
}

static struct mpr_path path_of(struct reading *g, uint32_t cell)
{
    return mpr_label_path(&g->out->arena, &g->reader, &g->reader.replay.accounts.cell[cell]);
}

static void add_site(struct reading *g, const struct tested *tested, struct mpr_path path,
                     const uint32_t *cell, size_t cells)
{
    MPR_GROW(g->site, g->sites, g->site_cap);
    g->site[g->sites] = (struct site){ *tested, path, g->cells, cells };
    for (size_t i = 0; i < cells; i++) {
        MPR_GROW(g->cell, g->cells, g->cell_cap);
        g->cell[g->cells++] = (struct mpr_ages_cell){ cell[i], (uint32_t)g->sites };
    }
    g->sites++;
}

/* Returns one path for cells that differ in numbers: "request {0..39}".  Reports group such paths
 * in the same way.  If an outlier keeps the paths from becoming one, returns the path without
 * numbers. */
static struct mpr_path numbered_path(struct reading *g, const uint32_t *cell, size_t cells)
{
    const struct mpr_replay *r = &g->reader.replay;
    struct mpr_arena *arena = &g->out->arena;
    struct mpr_repeats *repeats = g->named.repeats;
    struct mpr_line *line = mpr_alloc(cells, sizeof *line);
    for (size_t i = 0; i < cells; i++) {
        const struct mpr_row row = { .path = path_of(g, cell[i]) };
        line[i] = mpr_line_of(&row);
    }
    const bool one = mpr_lines_group(arena, line, mpr_lines_merge(line, cells)) == 1;
    const struct mpr_path path = line->row.path;
    free(line);
    if (one) return path;
    const uint32_t node = (uint32_t)r->accounts.cell[*cell].key;
    return mpr_repeats_path(arena, repeats, mpr_repeats_of(repeats, r, node));
}

/* Adds cells that differ only in numbers as one site if they grow together and none grows by
 * itself.  Marks them in @added. */
static void test_together(struct reading *g, const uint32_t *cell, size_t cells, bool *added)
{
    enum { CELLS_MIN = 3 };
    if (cells < CELLS_MIN) return;
    for (size_t i = 0; i < cells; i++)
        if (test(g, &cell[i], 1).trend.kind == MPR_TREND_GROWS) return;
    const struct tested t = test(g, cell, cells);
    if (t.trend.kind != MPR_TREND_GROWS) return;
    add_site(g, &t, numbered_path(g, cell, cells), cell, cells);
    for (size_t i = 0; i < cells; i++) added[cell[i]] = true;
}

/* A cell of a range.  Cells that differ only in numbers have the same key. */
struct numbered_cell {
    uint64_t key;
    uint32_t cell;
};

MPR_COMPARE(by_key, struct numbered_cell,
            mpr_compare(a->key, b->key) ?: mpr_compare(a->cell, b->cell))

static void test_numbered(struct reading *g, struct mpr_leaks_heap *const *heap_of, bool *added)
{
    const struct mpr_replay *r = &g->reader.replay;
    const enum mpr_group by = r->options.by;
    struct numbered_cell *numbered = mpr_alloc(r->accounts.cells, sizeof *numbered);
    uint32_t *number = mpr_alloc(r->accounts.cells, sizeof *number);
    size_t count = 0;
    for (uint32_t i = 0; i < r->accounts.cells; i++) {
        const struct mpr_cell *cell = &r->accounts.cell[i];
        const bool has_node = by == MPR_GROUP_RANGE || by == MPR_GROUP_PYTHON ||
                              (by == MPR_GROUP_AUTO && !(cell->key & MPR_KEY_LIBRARY));
        if (!heap_of[cell->heap] || !cell->key || !has_node) continue;
        const uint32_t repeat = mpr_repeats_of(g->named.repeats, r, (uint32_t)cell->key);
        numbered[count++] = (struct numbered_cell){ (uint64_t)cell->heap << 32 | repeat, i };
    }
    if (count) qsort(numbered, count, sizeof *numbered, by_key);
    for (size_t i = 0; i < count; i++) number[i] = numbered[i].cell;
    for (size_t i = 0, to; i < count; i = to) {
        for (to = i + 1; to < count && numbered[to].key == numbered[i].key;) to++;
        test_together(g, &number[i], to - i, added);
    }
    free(numbered);
    free(number);
}

/* A cell with samples, and the line that reports show for it by default. */
struct sampled {
    struct tested tested;
    struct mpr_path path;
    struct mpr_frame_summary line;
    uint32_t cell;
    uint8_t heap;
};

MPR_COMPARE(by_line, struct sampled,
            mpr_compare(a->heap, b->heap)
                ?: mpr_frame_compare_paths(a->line.path, b->line.path)
                ?: strcmp(a->line.caller, b->line.caller))

/* Adds the cells of a line as one site, or each as a site if only some of them grow.  Cells that
 * shrink also count.  Without them every line of many cells would grow. */
static void test_line(struct reading *g, const struct sampled *cell, size_t cells)
{
    struct tested together = { .has_more_samples = false };
    uint32_t *number = mpr_alloc(cells, sizeof *number);
    bool may_grow = false, grows = false;
    const struct sampled *largest = cell;
    for (size_t i = 0; i < cells; i++) {
        const enum mpr_trend_kind kind = cell[i].tested.trend.kind;
        number[i] = cell[i].cell;
        may_grow |= kind != MPR_TREND_OTHER || cell[i].tested.has_more_samples;
        grows |= kind == MPR_TREND_GROWS;
        if (cell[i].tested.live.bytes > largest->tested.live.bytes) largest = &cell[i];
    }
    if (cells > 1 && may_grow) together = test(g, number, cells);
    const enum mpr_trend_kind kind = together.trend.kind;
    if (kind == MPR_TREND_GROWS || (kind != MPR_TREND_OTHER && !grows))
        add_site(g, &together, largest->path, number, cells);
    else
        for (size_t i = 0; i < cells; i++)
            if (cell[i].tested.trend.kind != MPR_TREND_OTHER)
                add_site(g, &cell[i].tested, cell[i].path, &number[i], 1);
    free(number);
}

/* Finds the sites of the heaps that have a result. */
static void find_sites(struct reading *g, struct mpr_leaks_heap *const *heap_of)
{
    const struct mpr_replay *r = &g->reader.replay;
    bool *added = mpr_alloc(r->accounts.cells, sizeof *added);
    struct sampled *sampled = mpr_alloc(r->accounts.cells, sizeof *sampled);
    struct mpr_user_frames *user_frames = mpr_user_frames_new();
    size_t count = 0;
    g->sites = g->cells = 0;
    test_numbered(g, heap_of, added);
    for (uint32_t i = 0; i < r->accounts.cells; i++) {
        const struct mpr_cell *cell = &r->accounts.cell[i];
        if (added[i] || !heap_of[cell->heap]) continue;
        const struct tested t = test(g, &i, 1);
        const bool is_remainder = mpr_replay_is_represented(r, cell);
        if (!is_remainder && mpr_history_is_estimate(&g->view, i)) {
            struct sampled *s = &sampled[count++];
            *s = (struct sampled){ t, path_of(g, i), .cell = i, .heap = cell->heap };
            s->line = mpr_user_frames_summary(user_frames, &g->out->arena, s->path, false);
            continue;
        }
        /* "too few samples" does not apply to the remainder: more samples would not name it */
        if (t.trend.kind != MPR_TREND_OTHER && (t.trend.kind != MPR_TREND_FEW || !is_remainder))
            add_site(g, &t, path_of(g, i), &i, 1);
    }
    if (count) qsort(sampled, count, sizeof *sampled, by_line);
    for (size_t i = 0, to; i < count; i = to) {
        for (to = i + 1; to < count && by_line(&sampled[to], &sampled[i]) == 0;) to++;
        test_line(g, &sampled[i], to - i);
    }
    mpr_user_frames_free(user_frames);
    free(sampled);
    free(added);
}

/* ---- rows */

MPR_COMPARE(by_growth, struct mpr_leaks_row,
            mpr_compare(b->row.bytes, a->row.bytes)
                ?: mpr_compare(b->row.live_bytes, a->row.live_bytes)
                ?: mpr_row_by_path(&a->row, &b->row))

static struct mpr_leaks_row row_of(const struct reading *g, const struct site *s,
                                   const struct mpr_ages *made)
{
    const struct mpr_replay *r = &g->reader.replay;
    struct mpr_leaks_row row = { .row = { .path = s->path,
                                          .bytes = s->tested.trend.growth.bytes,
                                          .blocks = s->tested.trend.growth.blocks,
                                          .live_bytes = s->tested.live.bytes,
                                          .live_blocks = s->tested.live.blocks },
                                 .error = (uint64_t)s->tested.trend.error,
                                 .samples = s->tested.trend.growth.live,
                                 .made = *made,
                                 .age = mpr_leaks_age(g->out, made) };
    for (size_t i = 0; i < s->cells; i++) {
        const uint32_t cell = g->cell[s->first + i].cell;
        row.row.counted |= mpr_counted_totals_is(&r->totals, &r->accounts, &r->accounts.cell[cell]);
        row.row.estimated |= row.row.counted || mpr_history_is_estimate(&g->view, cell);
    }
    return row;
}

/* Fills the rows of heaps by the grouping to which the finished replay is projected.  @heap: one
 * for each element of out->heap. */
static void fill_rows(struct reading *g, struct mpr_leaks_heap *heap)
{
    struct mpr_leaks *out = g->out;
    const struct mpr_accounts *accounts = &g->reader.replay.accounts;
    struct mpr_leaks_heap *heap_of[MPR_HEAPS] = { NULL }, *end = heap + out->peaks.log[0].heaps;
    for (struct mpr_leaks_heap *h = heap; h < end; h++) heap_of[h->live->heap] = h;
    mpr_history_view(&g->view, &g->history, &g->projection);
    find_sites(g, heap_of);
    struct mpr_ages *made = mpr_arena_alloc(&out->arena, g->sites * sizeof *made);
    struct mpr_leaks_rows **list = mpr_alloc(g->sites, sizeof *list);
    mpr_ages_of(&out->arena, &g->history.lifetimes, &g->projection, g->cell, g->cells, made,
                g->sites);
    for (size_t i = 0; i < g->sites; i++) {
        const struct site *s = &g->site[i];
        struct mpr_leaks_heap *h = heap_of[accounts->cell[g->cell[s->first].cell].heap];
        list[i] = s->tested.trend.kind == MPR_TREND_GROWS      ? &h->growing
                  : s->tested.trend.kind == MPR_TREND_LEVELLED ? &h->levelled
                                                               : &h->few;
        list[i]->rows++;
    }
    for (size_t i = 0; i < g->sites; i++) {
        struct mpr_leaks_rows *l = list[i];
        if (!l->row) {
            l->row = mpr_arena_alloc(&out->arena, l->rows * sizeof *l->row);
            l->rows = 0;
        }
        l->row[l->rows++] = row_of(g, &g->site[i], &made[i]);
    }
    free(list);
    mpr_history_view_free(&g->view);
    for (struct mpr_leaks_heap *h = heap; h < end; h++) {
        struct mpr_leaks_rows *const of[] = { &h->growing, &h->levelled, &h->few };
        for (size_t i = 0; i < sizeof of / sizeof *of; i++)
            if (of[i]->rows) qsort(of[i]->row, of[i]->rows, sizeof *of[i]->row, by_growth);
        if (is_default_clock(out)) mpr_startup_leave_out(h);
    }
}

/* Fills the growth of a whole heap.  Blocks that are only counted from time to time change at each
 * count.  So there must be a count between two tested instants. */
static void fill_growth(struct mpr_leaks_heap *heap, const struct reading *g)
{
    enum { COUNTED_NS = 200000000 }; /* there are ten a second */
    const uint8_t code = heap->live->heap;
    const struct mpr_replay *r = &g->reader.replay;
    const bool is_counted =
        code == MPF_HEAP_HOST && r->totals.known && !r->options.host_sums_estimated;
    const struct mpr_history *h = &g->history;
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
    heap->grows = count >= MPR_LEAKS_LEAST && mpr_trend(value, count).kind == MPR_TREND_GROWS;
}

static void fill(struct reading *g, const char *path, const struct mpr_choice *choice)
{
    struct mpr_leaks *out = g->out;
    mpr_peaks_init(&out->peaks, &(struct mpr_peaks_options){ .by = out->options.by,
                                                             .heap = out->options.heap,
                                                             .at = out->options.at });
    mpr_projection_begin(&g->projection, &g->reader.replay, choice->by, NULL);
    mpr_peaks_take(&out->peaks, &g->reader, path, choice);
    fill_instants(out, g);
    const struct mpr_log_peaks *log = &out->peaks.log[0];
    out->heap = mpr_arena_alloc(&out->arena, log->heaps * sizeof *out->heap);
    for (size_t i = 0; i < log->heaps; i++) {
        out->heap[i] = (struct mpr_leaks_heap){ .live = &log->heap[i], .by = choice->by };
        if (mpr_leaks_has_growth(out)) fill_growth(&out->heap[i], g);
    }
    if (mpr_leaks_has_growth(out)) fill_rows(g, out->heap);
    mpr_projection_end(&g->projection, &g->reader.replay);
}

/* Replaces the rows of heaps by rows by call stack.  A range shows which step grows, but only a
 * line of code shows why; and if each step has another range, none of these grows by itself.  Rows
 * stay by range if the largest growing row by call stack has no name.  If nothing grows, the
 * largest row that levelled off decides. */
static void fill_calls(struct reading *g, enum mpr_group calls)
{
    struct mpr_leaks *out = g->out;
    const size_t heaps = out->peaks.log[0].heaps;
    if (!mpr_leaks_has_growth(out)) return;
    struct mpr_leaks_heap *heap = mpr_arena_alloc(&out->arena, heaps * sizeof *heap);
    for (size_t i = 0; i < heaps; i++) {
        heap[i] = out->heap[i];
        heap[i].by = calls;
        heap[i].growing = heap[i].levelled = heap[i].few = (struct mpr_leaks_rows){ NULL, 0 };
    }
    mpr_projection_begin(&g->projection, &g->reader.replay, calls, NULL);
    fill_rows(g, heap);
    mpr_projection_end(&g->projection, &g->reader.replay);
    for (size_t i = 0; i < heaps; i++) {
        const struct mpr_leaks_rows *most = heap[i].growing.rows || out->heap[i].growing.rows
                                                ? &heap[i].growing
                                                : &heap[i].levelled;
        if (most->rows && most->row[0].row.path.depth) out->heap[i] = heap[i];
    }
}

/* ---- reading */

/* Chooses the instants, by the clock or by a range, and the last one. */
static void choose_instants(struct mpr_leaks *out, const struct mpr_prescan *known,
                            const char *path, const struct mpr_progress *progress)
{
    enum { TICKS = 48 }; /* intervals in a log if no range repeats */
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

static int fail_without_instance(struct mpr_leaks *out, const struct reading *g, const char *path,
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

/* Returns true if the log has blocks whose call sites may grow by their own clocks, and no earlier
 * reading (options.known) has looked for them. */
static bool has_own_clocks(const struct mpr_leaks *out, const struct mpr_prescan *known)
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
    const bool is_auto = out->options.by == MPR_GROUP_AUTO, by_site = has_own_clocks(out, known),
               by_calls = is_auto && mpr_group_is_calls(known->choice.calls),
               by_place = by_calls || by_site;
    const struct mpr_choice asked = { .by = out->options.by, .source = "" },
                            *choice = is_auto ? &known->choice : &asked;
    struct reading g = { .out = out };
    struct mpr_replay *r = &g.reader.replay;
    struct mpr_own_peaks own;
    if (mpr_reader_open(&g.reader, path, by_place ? MPR_GROUP_PLACE : choice->by, out->options.at,
                        error) != 0)
        return -1;
    watch_instants(&g);
    if (by_place) mpr_own_peaks_begin(&own, r, choice->by);
    if (by_site) mpr_survivors_begin(&g.survivors, r);
    g.reader.repeats = mpr_repeats_watch(r);
    int status = mpr_reader_replay(&g.reader, path, progress, error);
    if (status == 0) {
        mpr_history_end(&g.history);
        if (by_site)
            out->site_growth =
                mpr_site_growth_find(&out->arena, &g.survivors, &g.reader, &out->site_growths);
        if (out->options.range && !g.history.instants)
            status = fail_without_instance(out, &g, path, error);
        else fill(&g, path, choice);
        if (status == 0 && by_calls) fill_calls(&g, known->choice.calls);
        mpr_reader_close(&g.reader);
    }
    if (by_place) mpr_own_peaks_free(&own);
    mpr_history_free(&g.history);
    mpr_named_ranges_free(&g.named);
    mpr_survivors_free(&g.survivors);
    free(g.ended);
    free(g.site);
    free(g.cell);
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
        choose_instants(out, &known, path, progress);
        status = read_log(out, &known, path, progress, error);
    }
    out->options.known = NULL; /* the caller's, which may not live as long as the result */
    if (status != 0) mpr_leaks_free(out);
    return status;
}

void mpr_leaks_free(struct mpr_leaks *leaks)
{
    mpr_peaks_free(&leaks->peaks);
    mpr_arena_free(&leaks->arena);
}
