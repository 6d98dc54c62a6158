#include "lifetimes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "labels.h"
#include "lifetime_histogram.h"
#include "mpf/event.h"
#include "projection.h"
#include "reader.h"

static_assert((int)MPR_LIFETIME_CLASSES == MPR_LIFE_CLASSES, "the classes are replay's");

struct mpr_lifetime_stats mpr_lifetime_stats_of(const struct mpr_lifetime_histogram *lifetimes,
                                                uint32_t cell)
{
    const struct mpr_cell_lifetimes of = mpr_lifetime_histogram_of(lifetimes, cell);
    struct mpr_lifetime_stats stats = { of.allocations, of.bytes,           of.frees,
                                        of.temporary,   of.temporary_bytes, { 0 } };
    if (of.life) memcpy(stats.life, of.life, sizeof stats.life);
    return stats;
}

void mpr_lifetime_stats_add(struct mpr_lifetime_stats *sum, const struct mpr_lifetime_stats *other)
{
    sum->blocks += other->blocks;
    sum->bytes += other->bytes;
    sum->freed += other->freed;
    sum->soon += other->soon;
    sum->soon_bytes += other->soon_bytes;
    for (int i = 0; i < MPR_LIFETIME_CLASSES; i++) sum->life[i] += other->life[i];
}

uint64_t mpr_lifetime_stats_median(const struct mpr_lifetime_stats *stats)
{
    uint64_t seen = 0;
    for (int i = 0; stats->freed && i < MPR_LIFETIME_CLASSES; i++) {
        seen += stats->life[i];
        if (2 * seen >= stats->freed) return i < 2 ? (uint64_t)i : UINT64_C(3) << (i - 2);
    }
    return MPR_LIFETIME_UNKNOWN;
}

/* ---- ages of blocks */

/* Counts the blocks of some cells, then lists them. */
struct listing {
    const uint32_t *to; /* by cell of the replay: its cell in the projection; or NULL */
    uint32_t *place;    /* by cell: the index in `out` + 1, or 0 */
    uint32_t places;
    struct mpr_ages *out;
};

static struct mpr_ages *ages_of(const struct listing *l, const struct mpr_live_block *birth)
{
    const uint32_t cell = l->to ? l->to[birth->cell] : birth->cell,
                   place = cell < l->places ? l->place[cell] : 0;
    return place ? &l->out[place - 1] : NULL;
}

static void add_block(void *arg, const struct mpr_live_block *birth)
{
    struct mpr_ages *ages = ages_of(arg, birth);
    if (ages) ages->blocks++;
}

static void put_block(void *arg, const struct mpr_live_block *birth)
{
    struct mpr_ages *ages = ages_of(arg, birth);
    if (ages) ages->made[ages->blocks++] = birth->time;
}

void mpr_ages_of(struct mpr_arena *arena, const struct mpr_lifetime_histogram *lifetimes,
                 const struct mpr_projection *projection, const struct mpr_ages_cell *cell,
                 size_t cells, struct mpr_ages *ages, size_t count)
{
    struct listing l = { .to = projection ? projection->to : NULL, .out = ages };
    for (size_t i = 0; i < cells; i++) {
        MPR_REACH(l.place, cell[i].cell, l.places);
        l.place[cell[i].cell] = cell[i].of + 1;
    }
    memset(ages, 0, count * sizeof *ages);
    mpr_lifetime_histogram_each_marked(lifetimes, add_block, &l);
    for (size_t i = 0; i < count; i++) {
        ages[i].made = mpr_arena_alloc(arena, ages[i].blocks * sizeof *ages[i].made);
        ages[i].blocks = 0;
    }
    mpr_lifetime_histogram_each_marked(lifetimes, put_block, &l);
    for (size_t i = 0; i < count; i++)
        qsort(ages[i].made, ages[i].blocks, sizeof *ages[i].made, mpr_compare_numbers);
    free(l.place);
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
    qsort(made, blocks, sizeof *made, mpr_compare_numbers);
    return (struct mpr_ages){ made, blocks };
}

/* ---- temporary blocks */

MPR_COMPARE(by_soon, struct mpr_temporary_row,
            mpr_compare(b->stats.soon, a->stats.soon)
                ?: mpr_compare(b->stats.blocks, a->stats.blocks)
                ?: mpr_row_by_path(&a->row, &b->row))

/* @stats: by cell of the grouping. */
static void fill_rows(struct mpr_arena *arena, const struct mpr_reader *reader, uint8_t heap,
                      const struct mpr_lifetime_stats *stats, struct mpr_temporary_heap *out)
{
    const struct mpr_accounts *accounts = &reader->replay.accounts;
    size_t count = 0;
    for (uint32_t i = 0; i < accounts->cells; i++)
        count += accounts->cell[i].heap == heap && stats[i].blocks;
    out->heap = heap;
    out->row = mpr_arena_alloc(arena, count * sizeof *out->row);
    for (uint32_t i = 0; i < accounts->cells; i++) {
        const struct mpr_cell *cell = &accounts->cell[i];
        if (cell->heap != heap || !stats[i].blocks) continue;
        out->row[out->rows++] = (struct mpr_temporary_row){
            .row = { .path = mpr_label_path(arena, reader, cell),
                     .bytes = stats[i].soon,
                     .allocations = stats[i].blocks },
            .stats = stats[i],
        };
        mpr_lifetime_stats_add(&out->all, &stats[i]);
    }
    if (out->rows) qsort(out->row, out->rows, sizeof *out->row, by_soon);
}

MPR_COMPARE(by_heap, struct mpr_temporary_heap,
            mpr_compare(b->all.soon, a->all.soon) ?: mpr_heap_by_name(a->heap, b->heap))

struct gathering {
    struct mpr_temporary *out;
    struct mpr_lifetime_histogram lifetimes; /* by cell of the replay */
};

static void begin(void *arg, struct mpr_reader *reader)
{
    struct gathering *g = arg;
    reader->replay.lifetimes = &g->lifetimes;
}

static void fill(void *arg, const struct mpr_reader *reader, const struct mpr_projection *p)
{
    const struct gathering *g = arg;
    struct mpr_temporary *out = g->out;
    struct mpr_arena *arena = &out->peaks.arena;
    struct mpr_lifetime_stats *stats = mpr_alloc(reader->replay.accounts.cells, sizeof *stats);
    for (uint32_t i = 0; i < p->cells; i++) {
        const struct mpr_lifetime_stats of_cell = mpr_lifetime_stats_of(&g->lifetimes, i);
        mpr_lifetime_stats_add(&stats[p->to ? p->to[i] : i], &of_cell);
    }
    out->heap = mpr_arena_alloc(arena, MPR_HEAPS * sizeof *out->heap);
    for (unsigned i = 0; i < MPR_HEAPS; i++) {
        /* a sampled block counts for several blocks whose lifetimes are unknown */
        const bool sampled = i == MPF_HEAP_PYTHON ||
                             (i == MPF_HEAP_HOST && mpr_replay_samples_host(&reader->replay));
        if (sampled || (out->options.heap && i != out->options.heap)) continue;
        fill_rows(arena, reader, (uint8_t)i, stats, &out->heap[out->heaps]);
        out->heaps += out->heap[out->heaps].rows != 0;
    }
    free(stats);
    if (out->heaps) qsort(out->heap, out->heaps, sizeof *out->heap, by_heap);
}

int mpr_temporary_read(struct mpr_temporary *out, const char *path,
                       const struct mpr_temporary_options *options,
                       const struct mpr_progress *progress, struct mpr_error *error)
{
    struct gathering g = { .out = out, .lifetimes = { .within = options->within_ns } };
    const struct mpr_peaks_observer observer = { begin, fill, &g };
    *out = (struct mpr_temporary){ .options = *options };
    mpr_peaks_init(&out->peaks, &(struct mpr_peaks_options){ .by = options->by,
                                                             .heap = options->heap,
                                                             .at = MPR_INSTANT_PEAK });
    const int status = mpr_peaks_add_observed(&out->peaks, path, &observer, progress, error);
    if (status == 0) mpr_peaks_finish(&out->peaks);
    else mpr_temporary_free(out);
    mpr_lifetime_histogram_free(&g.lifetimes);
    return status;
}

void mpr_temporary_free(struct mpr_temporary *out) { mpr_peaks_free(&out->peaks); }
