#include "leaks_sites.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "alloc_context.h"
#include "amount.h"
#include "labels.h"
#include "lifetime_histogram.h"
#include "numbered_lines.h"
#include "user_frame.h"

enum { TOGETHER = 3 }; /* at least this many sites are tested as one */

/* A cell of a range, with a key that cells have in common if they differ only in numbers. */
struct alike {
    uint64_t key;
    uint32_t cell;
};

/* ---- the list */

static void add(struct mpr_leaks_sites *s, const struct mpr_replay *r, uint32_t cell)
{
    MPR_GROW(s->cell, s->cells, s->cell_cap);
    s->cell[s->cells++] = cell;
    s->at[s->count - 1].cells++;
    s->at[s->count - 1].heap = r->accounts.cell[cell].heap;
}

static void open_site(struct mpr_leaks_sites *s, struct mpr_trend trend,
                      struct mpr_history_value live)
{
    MPR_GROW(s->at, s->count, s->cap);
    s->at[s->count++] = (struct mpr_leaks_site){ .first = s->cells, .trend = trend, .live = live };
}

/* ---- sites that are tested as one */

/* Returns true for cells of ranges and of Python calls. */
static bool has_node(const struct mpr_replay *r, const struct mpr_cell *cell)
{
    const enum mpr_group by = r->options.by;
    return cell->key && (by == MPR_GROUP_RANGE || by == MPR_GROUP_PYTHON ||
                         (by == MPR_GROUP_AUTO && !(cell->key & MPR_KEY_LIBRARY)));
}

MPR_COMPARE(by_key, struct alike, mpr_compare(a->key, b->key) ?: mpr_compare(a->cell, b->cell))

static void judge_together(struct mpr_leaks_sites *s, const struct mpr_history_view *h,
                           const struct mpr_replay *r, const struct alike *alike, size_t count,
                           bool *taken)
{
    struct mpr_history_value value[MPR_HISTORY_MAX];
    const size_t instants = h->history->count;
    uint32_t *cell = mpr_alloc(count, sizeof *cell);
    bool alone = count < TOGETHER; /* one of them grows by itself, or they are too few */
    for (size_t i = 0; !alone && i < count; i++) {
        cell[i] = alike[i].cell;
        mpr_history_values(h, &cell[i], 1, value);
        alone = mpr_trend(value, instants).as == MPR_TREND_GROWS;
    }
    if (!alone) mpr_history_values(h, cell, count, value);
    free(cell);
    if (alone) return;
    const struct mpr_trend t = mpr_trend(value, instants);
    if (t.as != MPR_TREND_GROWS) return;
    open_site(s, t, value[instants - 1]);
    for (size_t i = 0; i < count; i++) {
        add(s, r, alike[i].cell);
        taken[alike[i].cell] = true;
    }
}

static void find_alike(struct mpr_leaks_sites *s, const struct mpr_history_view *h,
                       struct mpr_repeats *repeats, const struct mpr_replay *r, const bool *wanted,
                       bool *taken)
{
    struct alike *alike = mpr_alloc(r->accounts.cells, sizeof *alike);
    size_t count = 0;
    for (uint32_t i = 0; i < r->accounts.cells; i++) {
        const struct mpr_cell *cell = &r->accounts.cell[i];
        if (!wanted[cell->heap] || !has_node(r, cell)) continue;
        const uint32_t repeat = mpr_repeats_of(repeats, r, (uint32_t)cell->key);
        alike[count++] = (struct alike){ (uint64_t)cell->heap << 32 | repeat, i };
    }
    if (count) qsort(alike, count, sizeof *alike, by_key);
    for (size_t i = 0, to; i < count; i = to) {
        for (to = i + 1; to < count && alike[to].key == alike[i].key;) to++;
        judge_together(s, h, r, &alike[i], to - i, taken);
    }
    free(alike);
}

/* ---- sampled sites */

static struct mpr_path path_of(struct mpr_arena *arena, const struct mpr_reader *reader,
                               uint32_t cell)
{
    return mpr_label_path(arena, reader, &reader->replay.accounts.cell[cell]);
}

/* A cell with samples, and the line that reports show for it without options. */
struct sampled {
    struct mpr_frame_summary line;
    uint32_t cell;
    uint8_t heap;
    struct mpr_trend trend;
    struct mpr_history_value live;
    bool came_to_stay; /* it has more live samples than at the end of the warm-up */
};

MPR_COMPARE(by_line, struct sampled,
            mpr_compare(a->heap, b->heap)
                ?: mpr_frame_compare_paths(a->line.path, b->line.path)
                ?: strcmp(a->line.caller, b->line.caller))

/* Returns true if the cell may be a part of a line that grows or levelled off. */
static bool may_grow(const struct sampled *cell)
{
    return cell->trend.as != MPR_TREND_OTHER || cell->came_to_stay;
}

static void open_each(struct mpr_leaks_sites *s, const struct mpr_replay *r,
                      const struct sampled *cell, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (cell[i].trend.as == MPR_TREND_OTHER) continue;
        open_site(s, cell[i].trend, cell[i].live);
        add(s, r, cell[i].cell);
    }
}

/* Makes one site of all cells of a line, or a site of each if only some of them grow. Cells that
 * shrink count, too: without them every line of many cells would grow. */
static void judge_line(struct mpr_leaks_sites *s, const struct mpr_history_view *h,
                       const struct mpr_reader *reader, const struct sampled *cell, size_t count,
                       struct mpr_arena *arena)
{
    struct mpr_history_value sum[MPR_HISTORY_MAX];
    uint32_t *all = mpr_alloc(count, sizeof *all);
    bool may = false, grows = false;
    const struct sampled *largest = cell;
    for (size_t i = 0; i < count; i++) {
        all[i] = cell[i].cell;
        may |= may_grow(&cell[i]);
        grows |= cell[i].trend.as == MPR_TREND_GROWS;
        if (cell[i].live.bytes > largest->live.bytes) largest = &cell[i];
    }
    if (may) mpr_history_values(h, all, count, sum);
    free(all);
    if (!may) return;
    const struct mpr_trend t = mpr_trend(sum, h->history->count);
    if (t.as == MPR_TREND_OTHER || (t.as != MPR_TREND_GROWS && grows)) {
        open_each(s, &reader->replay, cell, count);
        return;
    }
    open_site(s, t, sum[h->history->count - 1]);
    s->at[s->count - 1].path = path_of(arena, reader, largest->cell);
    for (size_t i = 0; i < count; i++) add(s, &reader->replay, cell[i].cell);
}

static void judge_lines(struct mpr_leaks_sites *s, const struct mpr_history_view *h,
                        const struct mpr_reader *reader, struct sampled *cell, size_t count,
                        struct mpr_arena *arena)
{
    struct mpr_user_frames *user_frames = mpr_user_frames_new();
    for (size_t i = 0; i < count; i++) {
        const struct mpr_path path = path_of(arena, reader, cell[i].cell);
        cell[i].line = mpr_user_frames_summary(user_frames, arena, path, false);
    }
    if (count) qsort(cell, count, sizeof *cell, by_line);
    for (size_t i = 0, to; i < count; i = to) {
        for (to = i + 1; to < count && by_line(&cell[to], &cell[i]) == 0;) to++;
        if (to == i + 1) open_each(s, &reader->replay, &cell[i], 1);
        else judge_line(s, h, reader, &cell[i], to - i, arena);
    }
    mpr_user_frames_free(user_frames);
}

/* ---- all */

void mpr_leaks_sites_find(struct mpr_leaks_sites *s, const struct mpr_history_view *h,
                          struct mpr_repeats *repeats, const struct mpr_reader *reader,
                          const bool *wanted, struct mpr_arena *arena)
{
    struct mpr_history_value value[MPR_HISTORY_MAX];
    const struct mpr_replay *r = &reader->replay;
    bool *taken = mpr_alloc(r->accounts.cells, sizeof *taken);
    struct sampled *sampled = mpr_alloc(r->accounts.cells, sizeof *sampled);
    const size_t instants = h->history->count;
    size_t count = 0;
    *s = (struct mpr_leaks_sites){ .count = 0 };
    find_alike(s, h, repeats, r, wanted, taken);
    for (uint32_t i = 0; i < r->accounts.cells; i++) {
        const struct mpr_cell *cell = &r->accounts.cell[i];
        if (taken[i] || !wanted[cell->heap]) continue;
        mpr_history_values(h, &i, 1, value);
        const struct mpr_trend t = mpr_trend(value, instants);
        const bool rest = mpr_replay_is_represented(r, cell);
        if (!rest && mpr_history_is_estimate(h, i)) {
            const struct mpr_history_value *last = &value[instants - 1];
            sampled[count++] =
                (struct sampled){ .cell = i,
                                  .heap = cell->heap,
                                  .trend = t,
                                  .live = *last,
                                  .came_to_stay =
                                      last->live > value[mpr_trend_warm(instants)].live };
            continue;
        }
        /* a longer recording would not name the blocks without a sample */
        if (t.as == MPR_TREND_OTHER || (t.as == MPR_TREND_FEW && rest)) continue;
        open_site(s, t, value[instants - 1]);
        add(s, r, i);
    }
    judge_lines(s, h, reader, sampled, count, arena);
    free(sampled);
    free(taken);
}

void mpr_leaks_sites_free(struct mpr_leaks_sites *s)
{
    free(s->at);
    free(s->cell);
    *s = (struct mpr_leaks_sites){ .count = 0 };
}

/* ---- paths */

/* The report merges paths that differ in numbers in the same way, except for outliers.  If the
 * paths do not become one, the result is the path without numbers. */
struct mpr_path mpr_leaks_site_path(struct mpr_arena *arena, const struct mpr_leaks_sites *s,
                                    const struct mpr_leaks_site *site, struct mpr_repeats *repeats,
                                    const struct mpr_reader *reader)
{
    const uint32_t *cell = &s->cell[site->first];
    if (site->path.depth) return site->path;
    if (site->cells == 1) return path_of(arena, reader, *cell);
    struct mpr_line *line = mpr_alloc(site->cells, sizeof *line);
    for (size_t i = 0; i < site->cells; i++) {
        struct mpr_row row = { .bytes = 0 };
        row.path = path_of(arena, reader, cell[i]);
        line[i] = mpr_line_of(&row);
    }
    const bool one = mpr_lines_group(arena, line, mpr_lines_merge(line, site->cells)) == 1;
    const struct mpr_path path = line->row.path;
    free(line);
    if (one) return path;
    const uint32_t repeat =
        mpr_repeats_of(repeats, &reader->replay, (uint32_t)reader->replay.accounts.cell[*cell].key);
    return mpr_repeats_path(arena, repeats, repeat);
}

/* ---- ages of blocks */

/* The times of each cell's blocks. */
struct times {
    const uint32_t *to; /* by cell of the births: its cell in the projection; or NULL */
    struct of_cell {
        uint64_t *made; /* NULL: not asked for, or not counted yet */
        size_t blocks;
    } * of;
    size_t cells;
};

static struct of_cell *times_of(struct times *t, uint32_t cell)
{
    const uint32_t at = t->to ? t->to[cell] : cell;
    MPR_REACH(t->of, at, t->cells);
    return &t->of[at];
}

static void count(void *arg, const struct mpr_live_block *birth)
{
    times_of(arg, birth->cell)->blocks++;
}

static void put(void *arg, const struct mpr_live_block *birth)
{
    struct of_cell *of = times_of(arg, birth->cell);
    if (of->made) of->made[of->blocks++] = birth->time;
}

void mpr_ages_of(struct mpr_arena *arena, const struct mpr_lifetime_histogram *l,
                 const struct mpr_projection *projection, const uint32_t *cell, size_t cells,
                 struct mpr_ages *out)
{
    struct times t = { .to = projection ? projection->to : NULL };
    mpr_lifetime_histogram_each_marked(l, count, &t);
    for (size_t i = 0; i < cells; i++) {
        if (cell[i] >= t.cells) continue;
        struct of_cell *of = &t.of[cell[i]];
        of->made = mpr_arena_alloc(arena, of->blocks * sizeof *of->made);
        of->blocks = 0;
    }
    mpr_lifetime_histogram_each_marked(l, put, &t);
    for (size_t i = 0; i < cells; i++) {
        out[i] = (struct mpr_ages){ .blocks = 0 };
        if (cell[i] >= t.cells || !t.of[cell[i]].blocks) continue;
        const struct of_cell *of = &t.of[cell[i]];
        qsort(of->made, of->blocks, sizeof *of->made, mpr_compare_numbers);
        out[i] = (struct mpr_ages){ of->made, of->blocks };
    }
    free(t.of);
}

struct mpr_ages mpr_ages_join(struct mpr_arena *arena, const struct mpr_ages *ages, size_t count)
{
    size_t blocks = 0;
    for (size_t i = 0; i < count; i++) blocks += ages[i].blocks;
    uint64_t *made = mpr_arena_alloc(arena, blocks * sizeof *made);
    blocks = 0;
    for (size_t i = 0; i < count; i++) {
        if (ages[i].blocks) memcpy(made + blocks, ages[i].made, ages[i].blocks * sizeof *made);
        blocks += ages[i].blocks;
    }
    if (blocks) qsort(made, blocks, sizeof *made, mpr_compare_numbers);
    return (struct mpr_ages){ made, blocks };
}
