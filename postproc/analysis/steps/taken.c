#include "taken.h"

#include <stdlib.h>

#include "alloc.h"

void mpr_taken_watch(struct mpr_taken *t, struct mpr_replay *r, size_t entries)
{
    t->entries = entries;
    r->books.highs = &t->highs;
}

void mpr_taken_free(struct mpr_taken *t)
{
    for (int i = 0; i < MPR_HEAPS; i++) free(t->heap[i]);
}

void mpr_taken_learn(struct mpr_taken *t, const struct mpr_replay *r)
{
    const uint32_t known = t->heaps.count;
    mpr_books_used(&r->books, &t->heaps);
    for (uint32_t i = known; i < t->heaps.count; i++)
        t->heap[t->heaps.code[i]] = mpr_alloc(t->entries, sizeof **t->heap);
    t->rises = 0;
    for (uint32_t i = 0; i < t->heaps.count; i++)
        if (t->highs.heap[t->heaps.code[i]].bytes) t->risen[t->rises++] = t->heaps.code[i];
}

static void rise(struct mpr_instance_heap *h, uint64_t number, uint64_t bytes, uint64_t time)
{
    if (bytes <= h->peak_bytes) return;
    h->peak_bytes = bytes;
    h->peak_time = time;
    h->peak_number = number;
}

void mpr_taken_rise(struct mpr_taken *t, size_t entry, uint64_t number)
{
    for (uint32_t i = 0; i < t->rises; i++) {
        const uint8_t code = t->risen[i];
        const struct mpr_high *high = &t->highs.heap[code];
        rise(&t->heap[code][entry], number, high->bytes, high->time);
    }
}

void mpr_taken_forget(struct mpr_taken *t)
{
    for (uint32_t i = 0; i < t->rises; i++) t->highs.heap[t->risen[i]].bytes = 0;
}

void mpr_taken_begin(struct mpr_taken *t, const struct mpr_replay *r, size_t entry, uint64_t number,
                     bool first)
{
    for (uint32_t i = 0; i < t->heaps.count; i++) {
        const struct mpr_heap *heap = &r->books.heap[t->heaps.code[i]];
        struct mpr_instance_heap *h = &t->heap[t->heaps.code[i]][entry];
        if (first)
            *h = (struct mpr_instance_heap){ .begin_bytes = heap->bytes, .end_bytes = heap->bytes };
        rise(h, number, heap->bytes, r->now);
        h->allocations -= heap->allocations;
    }
}

void mpr_taken_end(struct mpr_taken *t, const struct mpr_replay *r, size_t entry)
{
    for (uint32_t i = 0; i < t->heaps.count; i++) {
        const struct mpr_heap *heap = &r->books.heap[t->heaps.code[i]];
        struct mpr_instance_heap *h = &t->heap[t->heaps.code[i]][entry];
        h->end_bytes = heap->bytes;
        h->allocations += heap->allocations;
    }
}

void mpr_taken_move(struct mpr_taken *t, size_t to, size_t from)
{
    for (uint32_t i = 0; i < t->heaps.count; i++) {
        struct mpr_instance_heap *heap = t->heap[t->heaps.code[i]];
        heap[to] = heap[from];
    }
}

static struct mpr_instance_heap joined(const struct mpr_instance_heap *a,
                                       const struct mpr_instance_heap *b)
{
    const struct mpr_instance_heap *high = b->peak_bytes > a->peak_bytes ? b : a;
    return (struct mpr_instance_heap){
        .peak_bytes = high->peak_bytes,
        .peak_time = high->peak_time,
        .peak_number = high->peak_number,
        .begin_bytes = a->begin_bytes,
        .end_bytes = b->end_bytes,
        .allocations = a->allocations + b->allocations,
    };
}

void mpr_taken_join(struct mpr_taken *t, size_t to, size_t a, size_t b)
{
    for (uint32_t i = 0; i < t->heaps.count; i++) {
        struct mpr_instance_heap *heap = t->heap[t->heaps.code[i]];
        heap[to] = joined(&heap[a], &heap[b]);
    }
}
