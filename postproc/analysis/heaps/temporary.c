#include "temporary.h"

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

/* ---- lifetimes */

static_assert((int)MPR_LIFETIME_CLASSES == MPR_LIFE_CLASSES, "the classes are replay's");

struct mpr_lifetime_stats mpr_lifetime_stats_of(const struct mpr_lifetime_histogram *lasting,
                                                uint32_t cell)
{
    const struct mpr_cell_lifetimes of = mpr_lifetime_histogram_of(lasting, cell);
    struct mpr_lifetime_stats tally = {
        of.births, of.bytes, of.ends, of.soon, of.soon_bytes, { 0 }
    };
    if (of.life) memcpy(tally.life, of.life, sizeof tally.life);
    return tally;
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

uint64_t mpr_lifetime_stats_median(const struct mpr_lifetime_stats *tally)
{
    uint64_t seen = 0;
    for (int i = 0; tally->freed && i < MPR_LIFETIME_CLASSES; i++) {
        seen += tally->life[i];
        if (2 * seen >= tally->freed) return i < 2 ? (uint64_t)i : UINT64_C(3) << (i - 2);
    }
    return MPR_LIFETIME_UNKNOWN;
}

/* ---- the result */

/* The lifetimes by cell of the grouping. */
struct gathering {
    struct mpr_temporary *out;
    struct mpr_lifetime_histogram lasting; /* by cell of the replay */
    struct mpr_lifetime_stats *tally;
};

static void add_up(struct gathering *g, const struct mpr_projection *p, uint32_t cells)
{
    g->tally = mpr_alloc(cells, sizeof *g->tally);
    for (uint32_t i = 0; i < p->cells; i++) {
        const struct mpr_lifetime_stats tally = mpr_lifetime_stats_of(&g->lasting, i);
        mpr_lifetime_stats_add(&g->tally[p->to ? p->to[i] : i], &tally);
    }
}

static int by_soon(const void *left, const void *right)
{
    const struct mpr_temporary_row *a = left, *b = right;
    int order = mpr_compare(b->tally.soon, a->tally.soon);
    if (!order) order = mpr_compare(b->tally.blocks, a->tally.blocks);
    return order ? order : mpr_row_by_path(&a->row, &b->row);
}

static void fill_rows(struct gathering *g, const struct mpr_reader *reader, uint8_t heap,
                      struct mpr_temporary_heap *out)
{
    struct mpr_arena *arena = &g->out->peaks.arena;
    const struct mpr_accounts *accounts = &reader->replay.accounts;
    size_t count = 0;
    for (uint32_t i = 0; i < accounts->cells; i++)
        count += accounts->cell[i].heap == heap && g->tally[i].blocks;
    out->heap = heap;
    out->row = mpr_arena_alloc(arena, count * sizeof *out->row);
    for (uint32_t i = 0; i < accounts->cells; i++) {
        const struct mpr_cell *cell = &accounts->cell[i];
        if (cell->heap != heap || !g->tally[i].blocks) continue;
        struct mpr_temporary_row *row = &out->row[out->rows++];
        row->tally = g->tally[i];
        row->row = (struct mpr_row){ .bytes = row->tally.soon, .allocations = row->tally.blocks };
        row->row.path = mpr_label_path(arena, reader, cell);
        mpr_lifetime_stats_add(&out->all, &row->tally);
    }
    if (out->rows) qsort(out->row, out->rows, sizeof *out->row, by_soon);
}

MPR_COMPARE(by_heap, struct mpr_temporary_heap,
            mpr_compare(b->all.soon, a->all.soon) ?: mpr_heap_by_name(a->heap, b->heap))

static void fill_heaps(struct gathering *g, const struct mpr_reader *reader)
{
    struct mpr_temporary *out = g->out;
    out->heap = mpr_arena_alloc(&out->peaks.arena, MPR_HEAPS * sizeof *out->heap);
    for (unsigned i = 0; i < MPR_HEAPS; i++) {
        /* a sampled block counts for several, whose lifetimes are unknown */
        const bool sampled = i == MPF_HEAP_PYTHON ||
                             (i == MPF_HEAP_HOST && mpr_replay_samples_host(&reader->replay));
        if (sampled || (out->options.heap && i != out->options.heap)) continue;
        fill_rows(g, reader, (uint8_t)i, &out->heap[out->heaps]);
        out->heaps += out->heap[out->heaps].rows != 0;
    }
    if (out->heaps) qsort(out->heap, out->heaps, sizeof *out->heap, by_heap);
}

int mpr_temporary_read(struct mpr_temporary *out, const char *path,
                       const struct mpr_temporary_options *options,
                       const struct mpr_progress *progress, struct mpr_error *error)
{
    struct gathering g = { .out = out, .lasting = { .within = options->within_ns } };
    const struct mpr_peaks_options peaks = { .by = options->by,
                                             .heap = options->heap,
                                             .at = MPR_INSTANT_PEAK };
    *out = (struct mpr_temporary){ .options = *options };
    mpr_peaks_init(&out->peaks, &peaks);
    struct mpr_peaks_reading *reading = mpr_peaks_open(&out->peaks, path, error);
    if (!reading) return -1;
    struct mpr_reader *reader = mpr_peaks_reader(reading);
    reader->replay.lasting = &g.lasting;
    const int status = mpr_peaks_replay(&out->peaks, reading, path, progress, error);
    if (status == 0) {
        add_up(&g, mpr_peaks_projection(reading), reader->replay.accounts.cells);
        fill_heaps(&g, reader);
        mpr_peaks_finish(&out->peaks);
        free(g.tally);
    } else mpr_temporary_free(out);
    mpr_peaks_close(reading);
    mpr_lifetime_histogram_free(&g.lasting);
    return status;
}

void mpr_temporary_free(struct mpr_temporary *out) { mpr_peaks_free(&out->peaks); }
