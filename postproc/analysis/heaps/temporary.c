#include "temporary.h"

#include <stdlib.h>

#include "labels.h"
#include "lasting.h"
#include "mpf/event.h"
#include "reader.h"

struct gathering {
    struct mpr_temporary *out;
    struct mpr_lasting lasting;
};

/* A log may be read more than once. */
static void begin(void *arg, struct mpr_reader *reader)
{
    struct gathering *g = arg;
    mpr_lasting_free(&g->lasting);
    reader->replay.lasting = &g->lasting;
}

static int by_soon(const void *left, const void *right)
{
    const struct mpr_temporary_row *a = left, *b = right;
    if (a->tally.soon != b->tally.soon) return a->tally.soon > b->tally.soon ? -1 : 1;
    if (a->tally.blocks != b->tally.blocks) return a->tally.blocks > b->tally.blocks ? -1 : 1;
    return mpr_row_by_path(&a->row, &b->row);
}

static void fill_rows(struct gathering *g, const struct mpr_reader *reader, uint8_t heap,
                      struct mpr_temporary_heap *out)
{
    struct mpr_arena *arena = &g->out->peaks.arena;
    const struct mpr_books *books = &reader->replay.books;
    size_t count = 0;
    for (uint32_t i = 0; i < books->cells; i++)
        count += books->cell[i].heap == heap && mpr_lasting_of(&g->lasting, i).births;
    out->row = mpr_arena_alloc(arena, count * sizeof *out->row);
    for (uint32_t i = 0; i < books->cells; i++) {
        const struct mpr_cell *cell = &books->cell[i];
        if (cell->heap != heap || !mpr_lasting_of(&g->lasting, i).births) continue;
        struct mpr_temporary_row *row = &out->row[out->rows++];
        row->tally = mpr_tally_of(&g->lasting, i);
        row->row = (struct mpr_row){ .bytes = row->tally.soon, .allocations = row->tally.blocks };
        row->row.path = mpr_label_path(arena, reader, cell);
        mpr_tally_add(&out->all, &row->tally);
    }
    if (out->rows) qsort(out->row, out->rows, sizeof *out->row, by_soon);
}

static int by_heap(const void *left, const void *right)
{
    const struct mpr_temporary_heap *a = left, *b = right;
    if (a->all.soon != b->all.soon) return a->all.soon > b->all.soon ? -1 : 1;
    return mpr_heap_by_name(a->heap, b->heap);
}

/* Its blocks stand for others, and what these do is not known. */
static bool is_sample(const struct mpr_replay *r, uint8_t heap)
{
    return heap == MPF_HEAP_PYTHON || (heap == MPF_HEAP_HOST && mpr_replay_samples_host(r));
}

static void end(void *arg, const struct mpr_reader *reader)
{
    struct gathering *g = arg;
    struct mpr_temporary *out = g->out;
    out->heap = mpr_arena_alloc(&out->peaks.arena, MPR_HEAPS * sizeof *out->heap);
    for (unsigned i = 0; i < MPR_HEAPS; i++) {
        struct mpr_temporary_heap *heap = &out->heap[out->heaps];
        heap->heap = (uint8_t)i;
        if (out->options.heap && i != out->options.heap) continue;
        if (is_sample(&reader->replay, (uint8_t)i)) continue;
        fill_rows(g, reader, (uint8_t)i, heap);
        out->heaps += heap->rows != 0;
    }
    if (out->heaps) qsort(out->heap, out->heaps, sizeof *out->heap, by_heap);
}

int mpr_temporary_read(struct mpr_temporary *out, const char *path,
                       const struct mpr_temporary_options *options,
                       const struct mpr_progress *progress, struct mpr_error *error)
{
    struct gathering g = { .out = out, .lasting = { .within = options->within_ns } };
    const struct mpr_peaks_guest guest = { begin, end, &g };
    const struct mpr_peaks_options peaks = {
        .by = options->by, .heap = options->heap, .at = MPR_INSTANT_PEAK, .guest = &guest
    };
    *out = (struct mpr_temporary){ .options = *options };
    mpr_peaks_init(&out->peaks, &peaks);
    const int status = mpr_peaks_add(&out->peaks, path, progress, error);
    out->peaks.options.guest = NULL; /* it ends with this function */
    if (status == 0) mpr_peaks_finish(&out->peaks);
    else mpr_temporary_free(out);
    mpr_lasting_free(&g.lasting);
    return status;
}

void mpr_temporary_free(struct mpr_temporary *out) { mpr_peaks_free(&out->peaks); }
