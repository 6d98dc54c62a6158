#include "thread_use.h"

#include <stdlib.h>

#include "alloc.h"
#include "cell_totals.h"
#include "reader.h"

static struct mpr_thread_row *fill_rows(struct mpr_arena *arena, const struct mpr_replay *r,
                                        const struct mpr_heap_peak *heap)
{
    struct mpr_thread_row *row = mpr_arena_alloc(arena, heap->rows * sizeof *row);
    struct mpr_cell_totals *held = mpr_cell_totals_heap(r, heap->heap);
    for (size_t i = 0; i < heap->rows; i++) {
        const uint32_t cell = heap->row[i].cell;
        const uint32_t thread = (uint32_t)r->accounts.cell[cell].key;
        row[i] =
            (struct mpr_thread_row){ mpr_info_thread(arena, r, thread), held[cell].now_blocks };
    }
    free(held);
    return row;
}

static void fill_threads(struct mpr_thread_use *out, const struct mpr_replay *r)
{
    bool *allocated = mpr_alloc(r->threads.count, sizeof *allocated); /* by number */
    out->thread = mpr_info_threads(&out->peaks.arena, r, &out->threads);
    for (uint32_t i = 0; i < r->accounts.cells; i++) {
        const struct mpr_cell *cell = &r->accounts.cell[i];
        if (cell->key < r->threads.count) allocated[cell->key] |= cell->allocations != 0;
    }
    for (size_t i = 0; i < out->threads; i++)
        out->thread[i].allocated = allocated[out->thread[i].number];
    free(allocated);
}

int mpr_thread_use_read(struct mpr_thread_use *out, const char *path,
                        const struct mpr_peaks_options *options,
                        const struct mpr_progress *progress, struct mpr_error *error)
{
    *out = (struct mpr_thread_use){ 0 };
    mpr_peaks_init(&out->peaks, options);
    out->peaks.options.all_bytes = true;
    struct mpr_peaks_reading *reading = mpr_peaks_open(&out->peaks, path, error);
    if (!reading) return -1;
    struct mpr_reader *reader = mpr_peaks_reader(reading);
    const int status = mpr_peaks_replay(&out->peaks, reading, path, progress, error);
    if (status == 0) {
        const struct mpr_log_peaks *log = &out->peaks.log[0];
        fill_threads(out, &reader->replay);
        out->of = mpr_arena_alloc(&out->peaks.arena, log->heaps * sizeof *out->of);
        for (size_t i = 0; i < log->heaps; i++)
            out->of[i] = fill_rows(&out->peaks.arena, &reader->replay, &log->heap[i]);
        mpr_peaks_finish(&out->peaks);
    } else mpr_thread_use_free(out);
    mpr_peaks_close(reading);
    return status;
}

void mpr_thread_use_free(struct mpr_thread_use *out) { mpr_peaks_free(&out->peaks); }
