#include "thread_use.h"

#include <stdlib.h>

#include "amount.h"
#include "held.h"
#include "labels.h"
#include "lasting.h"
#include "mpf/sample.h"
#include "reader.h"

struct gathering {
    struct mpr_thread_use *out;
    struct mpr_lasting lasting;
};

static void begin(void *arg, struct mpr_reader *reader)
{
    struct gathering *g = arg;
    mpr_lasting_free(&g->lasting);
    reader->replay.lasting = &g->lasting;
}

static struct mpr_thread_life life_of(struct mpr_arena *arena, const struct mpr_replay *r,
                                      uint32_t number)
{
    const struct mpr_thread *t = number < r->threads.count ? r->threads.at[number] : NULL;
    struct mpr_thread_life life = { .name = mpr_label_thread(arena, r, number),
                                    .number = number,
                                    .ended_ns = UINT64_MAX };
    if (!t) return life;
    life.tid = t->tid;
    life.first_ns = t->first_ns;
    if (t->ended) life.ended_ns = t->ended_ns;
    return life;
}

static int by_bytes(const void *left, const void *right)
{
    const struct mpr_thread_row *a = left, *b = right;
    int order = mpr_compare(b->bytes, a->bytes);
    if (!order) order = mpr_compare(b->all_bytes, a->all_bytes);
    return order ? order : mpr_compare(a->thread.number, b->thread.number);
}

static void fill_rows(struct gathering *g, const struct mpr_replay *r, uint8_t heap,
                      struct mpr_thread_heap *out)
{
    struct mpr_arena *arena = &g->out->peaks.arena;
    const struct mpr_books *books = &r->books;
    struct mpr_held *held = mpr_held_heap(r, heap);
    size_t count = 0;
    for (uint32_t i = 0; i < books->cells; i++) count += books->cell[i].heap == heap;
    out->row = mpr_arena_alloc(arena, count * sizeof *out->row);
    for (uint32_t i = 0; i < books->cells; i++) {
        const struct mpr_cell *cell = &books->cell[i];
        const struct mpr_lasting_cell all = mpr_lasting_of(&g->lasting, i);
        if (cell->heap != heap) continue;
        struct mpr_thread_life thread = life_of(arena, r, (uint32_t)cell->key);
        thread.frame = mpr_label_maker_frame(arena, r, (uint32_t)cell->key);
        thread.name = thread.frame->text;
        out->row[out->rows++] = (struct mpr_thread_row){
            .thread = thread,
            .bytes = held[i].then,
            .blocks = held[i].then_blocks,
            .end_bytes = held[i].now,
            .end_blocks = held[i].now_blocks,
            .own_peak = held[i].own_peak,
            .allocations = held[i].allocations,
            .all_bytes = all.births && !held[i].estimated ? all.bytes : MPF_UNKNOWN,
            .estimated = held[i].estimated,
        };
    }
    free(held);
    if (out->rows) qsort(out->row, out->rows, sizeof *out->row, by_bytes);
}

static int by_peak(const void *left, const void *right)
{
    const struct mpr_thread_heap *a = left, *b = right;
    const int order = mpr_compare(b->peak_bytes, a->peak_bytes);
    return order ? order : mpr_heap_by_name(a->heap, b->heap);
}

static void fill_heaps(struct gathering *g, const struct mpr_replay *r)
{
    struct mpr_thread_use *out = g->out;
    out->at = mpr_arena_alloc(&out->peaks.arena, MPR_HEAPS * sizeof *out->at);
    for (unsigned i = 0; i < MPR_HEAPS; i++) {
        const struct mpr_heap *h = &r->books.heap[i];
        if (!h->used || (out->heap && i != out->heap)) continue;
        struct mpr_thread_heap *heap = &out->at[out->heaps++];
        *heap = (struct mpr_thread_heap){ .heap = (uint8_t)i,
                                          .peak_bytes = h->peak_bytes,
                                          .peak_time = h->peak_time,
                                          .end_bytes = h->bytes,
                                          .inside = mpr_heap_around((uint8_t)i) };
        fill_rows(g, r, (uint8_t)i, heap);
    }
    if (out->heaps) qsort(out->at, out->heaps, sizeof *out->at, by_peak);
}

static void fill_threads(struct mpr_thread_use *out, const struct mpr_replay *r)
{
    out->thread = mpr_arena_alloc(&out->peaks.arena, r->threads.count * sizeof *out->thread);
    size_t *place = mpr_arena_alloc(&out->peaks.arena, r->threads.count * sizeof *place);
    for (uint32_t i = 0; i < r->threads.count; i++) {
        if (!r->threads.at[i]) continue;
        place[i] = out->threads;
        out->thread[out->threads++] = life_of(&out->peaks.arena, r, i);
    }
    for (uint32_t i = 0; i < r->books.cells; i++) {
        const uint64_t number = r->books.cell[i].key;
        if (r->books.cell[i].allocations && number < r->threads.count && r->threads.at[number])
            out->thread[place[number]].allocated = true;
    }
}

static void end(void *arg, const struct mpr_reader *reader)
{
    struct gathering *g = arg;
    fill_threads(g->out, &reader->replay);
    fill_heaps(g, &reader->replay);
}

int mpr_thread_use_read(struct mpr_thread_use *out, const char *path, uint8_t heap,
                        const struct mpr_progress *progress, struct mpr_error *error)
{
    struct gathering g = { .out = out };
    const struct mpr_peaks_guest guest = { begin, end, &g };
    const struct mpr_peaks_options peaks = {
        .by = MPR_GROUP_THREAD, .heap = heap, .at = MPR_INSTANT_PEAK, .guest = &guest
    };
    *out = (struct mpr_thread_use){ .heap = heap };
    mpr_peaks_init(&out->peaks, &peaks);
    const int status = mpr_peaks_add(&out->peaks, path, progress, error);
    out->peaks.options.guest = NULL; /* it ends with this function */
    if (status == 0) mpr_peaks_finish(&out->peaks);
    else mpr_thread_use_free(out);
    mpr_lasting_free(&g.lasting);
    return status;
}

void mpr_thread_use_free(struct mpr_thread_use *out) { mpr_peaks_free(&out->peaks); }
