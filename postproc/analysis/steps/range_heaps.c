#include "range_heaps.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"

/* ---- maxima */

void mpr_heap_rises_watch(struct mpr_heap_rises *s, struct mpr_replay *r)
{
    s->maxima.next = r->accounts.maxima;
    r->accounts.maxima = &s->maxima;
}

void mpr_heap_rises_take(struct mpr_heap_rises *s, const struct mpr_replay *r)
{
    mpr_accounts_used(&r->accounts, &s->heaps);
    s->count = 0;
    for (uint32_t i = 0; i < s->heaps.count; i++) {
        struct mpr_heap_maximum *high = &s->maxima.heap[s->heaps.code[i]];
        if (!high->bytes) continue;
        s->rise[s->count++] = (struct mpr_heap_rise){ *high, s->heaps.code[i] };
        high->bytes = 0;
    }
}

/* ---- entries */

void mpr_range_heaps_free(struct mpr_range_heaps *t)
{
    for (int i = 0; i < MPR_HEAPS; i++) free(t->heap[i].at);
}

static struct mpr_instance_heap *entry_of(struct mpr_range_heaps *t, uint8_t code, size_t entry)
{
    struct mpr_range_heaps_heap *heap = &t->heap[code];
    MPR_REACH(heap->at, entry, heap->entries);
    return &heap->at[entry];
}

struct mpr_instance_heap *mpr_range_heaps_copy(const struct mpr_range_heaps *t,
                                               struct mpr_arena *arena, uint8_t heap,
                                               size_t entries)
{
    const struct mpr_range_heaps_heap *from = &t->heap[heap];
    const size_t known = from->entries < entries ? from->entries : entries;
    struct mpr_instance_heap *copy = mpr_arena_alloc(arena, entries * sizeof *copy);
    if (known) memcpy(copy, from->at, known * sizeof *copy);
    return copy;
}

static void rise(struct mpr_instance_heap *h, uint64_t number, uint64_t bytes, uint64_t time)
{
    if (bytes <= h->peak_bytes) return;
    h->peak_bytes = bytes;
    h->peak_time = time;
    h->peak_number = number;
}

void mpr_range_heaps_rise(struct mpr_range_heaps *t, size_t entry, uint64_t number)
{
    for (uint32_t i = 0; i < t->rises->count; i++) {
        const struct mpr_heap_rise *r = &t->rises->rise[i];
        rise(entry_of(t, r->code, entry), number, r->high.bytes, r->high.time);
    }
}

void mpr_range_heaps_begin(struct mpr_range_heaps *t, const struct mpr_replay *r, size_t entry,
                           uint64_t number, bool first)
{
    for (uint32_t i = 0; i < t->rises->heaps.count; i++) {
        const uint8_t code = t->rises->heaps.code[i];
        const struct mpr_heap *heap = &r->accounts.heap[code];
        struct mpr_instance_heap *h = entry_of(t, code, entry);
        if (first)
            *h = (struct mpr_instance_heap){ .begin_bytes = heap->bytes, .end_bytes = heap->bytes };
        rise(h, number, heap->bytes, r->now);
        h->allocations -= heap->allocations;
    }
}

void mpr_range_heaps_end(struct mpr_range_heaps *t, const struct mpr_replay *r, size_t entry)
{
    for (uint32_t i = 0; i < t->rises->heaps.count; i++) {
        const uint8_t code = t->rises->heaps.code[i];
        const struct mpr_heap *heap = &r->accounts.heap[code];
        struct mpr_instance_heap *h = entry_of(t, code, entry);
        h->end_bytes = heap->bytes;
        h->allocations += heap->allocations;
    }
}

void mpr_range_heaps_move(struct mpr_range_heaps *t, size_t to, size_t from)
{
    for (uint32_t i = 0; i < t->rises->heaps.count; i++) {
        const uint8_t code = t->rises->heaps.code[i];
        const struct mpr_instance_heap moved = *entry_of(t, code, from);
        *entry_of(t, code, to) = moved;
    }
}

void mpr_range_heaps_join(struct mpr_range_heaps *t, size_t to, size_t a, size_t b)
{
    for (uint32_t i = 0; i < t->rises->heaps.count; i++) {
        const uint8_t code = t->rises->heaps.code[i];
        const struct mpr_instance_heap first = *entry_of(t, code, a), last = *entry_of(t, code, b),
                                       *high = last.peak_bytes > first.peak_bytes ? &last : &first;
        *entry_of(t, code, to) = (struct mpr_instance_heap){
            .peak_bytes = high->peak_bytes,
            .peak_time = high->peak_time,
            .peak_number = high->peak_number,
            .begin_bytes = first.begin_bytes,
            .end_bytes = last.end_bytes,
            .allocations = first.allocations + last.allocations,
        };
    }
}
