#include "timeline.h"

#include <stdlib.h>
#include <string.h>

#include "bands.h"
#include "labels.h"
#include "levels.h"
#include "reader.h"

/* Changes of a heap that are kept while the log is read; folded to bands they are fewer. */
#define LEVEL_CHANGES ((size_t)4 << 20)

static int by_peak(const void *left, const void *right)
{
    const struct mpr_heap_line *a = left, *b = right;
    if (a->peak_bytes != b->peak_bytes) return a->peak_bytes > b->peak_bytes ? -1 : 1;
    return strcmp(a->name, b->name);
}

static void fill_heap(struct mpr_timeline *t, const struct mpr_replay *r, const struct mpr_levels *levels, uint8_t code,
                      struct mpr_heap_line *out)
{
    const struct mpr_heap *heap = &r->books.heap[code];
    *out = (struct mpr_heap_line){
        .name = mpr_label_heap(&t->arena, code),
        .peak_bytes = heap->peak_bytes, .peak_time = heap->peak_time, .peak_blocks = heap->peak_blocks,
        .end_bytes = heap->bytes, .end_blocks = heap->blocks,
        .allocations = heap->allocations, .frees = heap->frees, .failures = heap->failures,
    };
    if (!mpr_bands_fill(t, r, levels, code, out)) t->arena.failed = true;
}

static void fill_heaps(struct mpr_timeline *t, const struct mpr_replay *r, const struct mpr_levels *levels)
{
    size_t used = 0;
    for (int i = 0; i < MPR_HEAPS; i++) used += r->books.heap[i].used;
    t->heap = mpr_arena_alloc(&t->arena, used * sizeof *t->heap);
    for (int i = 0; t->heap && i < MPR_HEAPS; i++) {
        const bool wanted = !t->options.heap || strcmp(t->options.heap, mpr_label_heap(&t->arena, (uint8_t)i)) == 0;
        if (r->books.heap[i].used && wanted) fill_heap(t, r, levels, (uint8_t)i, &t->heap[t->heaps++]);
    }
    if (t->heaps) qsort(t->heap, t->heaps, sizeof *t->heap, by_peak);
}

static void fill_threads(struct mpr_timeline *t, const struct mpr_replay *r)
{
    t->threads = r->threads.count;
    t->thread_name = mpr_arena_alloc(&t->arena, t->threads * sizeof *t->thread_name);
    for (uint32_t i = 0; t->thread_name && i < t->threads; i++)
        t->thread_name[i] = mpr_label_thread(&t->arena, r, i);
}

static int read_log(struct mpr_timeline *t, struct mpr_reader *reader, struct mpr_levels *levels, const char *path,
                    const struct mpr_progress *progress, struct mpr_error *error)
{
    reader->replay.books.levels = levels;
    if (mpr_reader_replay(reader, path, progress, error) != 0) return -1;
    mpr_levels_finish(levels, &reader->replay.books);
    mpr_reader_summary(reader, path, &t->arena, &t->summary);
    fill_heaps(t, &reader->replay, levels);
    fill_threads(t, &reader->replay);
    mpr_reader_close(reader);
    if (!levels->failed && !t->arena.failed) return 0;
    return mpr_fail_memory(error, path);
}

int mpr_timeline_read(struct mpr_timeline *t, const char *path, const struct mpr_timeline_options *options,
                      const struct mpr_progress *progress, struct mpr_error *error)
{
    static const enum mpr_by by[] = { MPR_BY_RANGE, MPR_BY_THREAD, MPR_BY_SIZE, MPR_BY_HEAP, MPR_BY_ALL };
    const struct mpr_levels_options wanted = { options->from, options->to, options->buckets, LEVEL_CHANGES };
    struct mpr_reader reader;
    *t = (struct mpr_timeline){ .options = *options };
    struct mpr_levels *levels = malloc(sizeof *levels);
    if (!levels) return mpr_fail_memory(error, path);
    mpr_levels_init(levels, &wanted, &reader.replay.now);
    int status = mpr_reader_open(&reader, path, by[options->by], MPR_AT_PEAK, error);
    if (status == 0) status = read_log(t, &reader, levels, path, progress, error);
    mpr_levels_free(levels);
    free(levels);
    if (status != 0) mpr_timeline_free(t);
    return status;
}

void mpr_timeline_free(struct mpr_timeline *t) { mpr_arena_free(&t->arena); }
