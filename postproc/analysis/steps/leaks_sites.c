#include "leaks_sites.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "fold.h"
#include "labels.h"
#include "maker.h"

enum { TOGETHER = 3 }; /* that many sites are judged together */

/* A site of a range, and which others it is alike to. */
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
    s->at[s->count - 1].heap = r->books.cell[cell].heap;
}

static void open_site(struct mpr_leaks_sites *s, struct mpr_trend trend,
                      struct mpr_history_value live)
{
    MPR_GROW(s->at, s->count, s->cap);
    s->at[s->count++] = (struct mpr_leaks_site){ .first = s->cells, .trend = trend, .live = live };
}

/* ---- those that are alike */

/* Cells of ranges and of calls of Python have a node. */
static bool has_node(const struct mpr_replay *r, const struct mpr_cell *cell)
{
    const enum mpr_group by = r->options.by;
    return cell->key && (by == MPR_GROUP_RANGE || by == MPR_GROUP_PYTHON ||
                         (by == MPR_GROUP_AUTO && !(cell->key & MPR_KEY_LIBRARY)));
}

static int by_key(const void *left, const void *right)
{
    const struct alike *a = left, *b = right;
    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    return a->cell < b->cell ? -1 : a->cell > b->cell;
}

static size_t gather(struct alike *to, struct mpr_repeats *repeats, const struct mpr_replay *r,
                     const bool *wanted)
{
    size_t count = 0;
    for (uint32_t i = 0; i < r->books.cells; i++) {
        const struct mpr_cell *cell = &r->books.cell[i];
        if (!wanted[cell->heap] || !has_node(r, cell)) continue;
        const uint32_t repeat = mpr_repeats_of(repeats, r, (uint32_t)cell->key);
        to[count++] = (struct alike){ (uint64_t)cell->heap << 32 | repeat, i };
    }
    if (count) qsort(to, count, sizeof *to, by_key);
    return count;
}

static void add_value(struct mpr_history_value *to, const struct mpr_history_value *v)
{
    to->bytes += v->bytes;
    to->blocks += v->blocks;
    to->came += v->came;
    to->went += v->went;
    to->samples += v->samples;
    to->live += v->live;
}

/* What they held together; false: one of them grows by itself. */
static bool sum_of(const struct mpr_history *h, const struct alike *alike, size_t count,
                   struct mpr_history_value *sum)
{
    struct mpr_history_value value[MPR_HISTORY_MAX];
    bool sampled = true;
    memset(sum, 0, h->count * sizeof *sum);
    for (size_t i = 0; i < count; i++) {
        mpr_history_values(h, alike[i].cell, value);
        if (mpr_trend(value, h->count).as == MPR_TREND_GROWS) return false;
        sampled &= !value[h->count - 1].blocks || value[h->count - 1].samples;
        for (size_t k = 0; k < h->count; k++) add_value(&sum[k], &value[k]);
    }
    for (size_t k = 0; !sampled && k < h->count; k++) sum[k].samples = sum[k].live = 0;
    return true;
}

static void judge_together(struct mpr_leaks_sites *s, const struct mpr_history *h,
                           const struct mpr_replay *r, const struct alike *alike, size_t count,
                           bool *taken)
{
    struct mpr_history_value sum[MPR_HISTORY_MAX];
    if (count < TOGETHER || !sum_of(h, alike, count, sum)) return;
    const struct mpr_trend t = mpr_trend(sum, h->count);
    if (t.as != MPR_TREND_GROWS) return;
    open_site(s, t, sum[h->count - 1]);
    for (size_t i = 0; i < count; i++) {
        add(s, r, alike[i].cell);
        taken[alike[i].cell] = true;
    }
}

static void find_alike(struct mpr_leaks_sites *s, const struct mpr_history *h,
                       struct mpr_repeats *repeats, const struct mpr_replay *r, const bool *wanted,
                       bool *taken)
{
    struct alike *alike = mpr_alloc(r->books.cells, sizeof *alike);
    const size_t count = gather(alike, repeats, r, wanted);
    for (size_t i = 0, to; i < count; i = to) {
        for (to = i + 1; to < count && alike[to].key == alike[i].key;) to++;
        judge_together(s, h, r, &alike[i], to - i, taken);
    }
    free(alike);
}

/* ---- all */

void mpr_leaks_sites_find(struct mpr_leaks_sites *s, const struct mpr_history *h,
                          struct mpr_repeats *repeats, const struct mpr_reader *reader,
                          const bool *wanted)
{
    struct mpr_history_value value[MPR_HISTORY_MAX];
    const struct mpr_replay *r = &reader->replay;
    bool *taken = mpr_alloc(r->books.cells, sizeof *taken);
    *s = (struct mpr_leaks_sites){ .count = 0 };
    find_alike(s, h, repeats, r, wanted, taken);
    for (uint32_t i = 0; i < r->books.cells; i++) {
        if (taken[i] || !wanted[r->books.cell[i].heap]) continue;
        mpr_history_values(h, i, value);
        const struct mpr_trend t = mpr_trend(value, h->count);
        if (t.as == MPR_TREND_OTHER) continue;
        /* Whom all samples stand for is no site that a longer recording would name. */
        if (t.as == MPR_TREND_FEW && mpr_replay_is_rest(r, &r->books.cell[i])) continue;
        open_site(s, t, value[h->count - 1]);
        add(s, r, i);
    }
    free(taken);
}

void mpr_leaks_sites_free(struct mpr_leaks_sites *s)
{
    free(s->at);
    free(s->cell);
    *s = (struct mpr_leaks_sites){ .count = 0 };
}

/* ---- paths */

static struct mpr_path path_of(struct mpr_arena *arena, const struct mpr_reader *reader,
                               uint32_t cell)
{
    return mpr_label_path(arena, reader, &reader->replay.books.cell[cell]);
}

/* As the report folds them, but that none stands out; where they do not become one, without
 * numbers. */
struct mpr_path mpr_leaks_site_path(struct mpr_arena *arena, const struct mpr_leaks_sites *s,
                                    const struct mpr_leaks_site *site, struct mpr_repeats *repeats,
                                    const struct mpr_reader *reader)
{
    const uint32_t *cell = &s->cell[site->first];
    if (site->cells == 1) return path_of(arena, reader, *cell);
    struct mpr_line *line = mpr_alloc(site->cells, sizeof *line);
    for (size_t i = 0; i < site->cells; i++) {
        struct mpr_row row = { .bytes = 0 };
        row.path = path_of(arena, reader, cell[i]);
        line[i] = mpr_line_of(&row);
    }
    const bool one = mpr_fold(arena, line, mpr_lines_merge(line, site->cells)) == 1;
    const struct mpr_path path = line->row.path;
    free(line);
    if (one) return path;
    const uint32_t repeat =
        mpr_repeats_of(repeats, &reader->replay, (uint32_t)reader->replay.books.cell[*cell].key);
    return mpr_repeats_path(arena, repeats, repeat);
}
