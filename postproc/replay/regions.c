#include "regions.h"

#include <stdlib.h>

#include "alloc.h"

void mpr_regions_free(struct mpr_regions *r) { mpr_intervals_free(&r->spans); }

static uint64_t range_end(uint64_t start, uint64_t size)
{
    return size > UINT64_MAX - start ? UINT64_MAX : start + size;
}

static struct mpr_interval *first_after(const struct mpr_regions *r, uint64_t address)
{
    return mpr_intervals_at(&r->spans, mpr_intervals_after(&r->spans, address));
}

static void insert(struct mpr_regions *r, const struct mpr_interval *span)
{
    mpr_intervals_insert(&r->spans, mpr_intervals_after(&r->spans, span->start), span);
}

static void take_bytes(struct mpr_books *books, const struct mpr_interval *span)
{
    if (span->writable) mpr_books_remove(books, span->what, span->end - span->start);
}

static void give_bytes(struct mpr_books *books, const struct mpr_interval *span, uint64_t time)
{
    if (span->writable) mpr_books_add(books, span->what, span->end - span->start, time);
}

/* Makes `address` a border between intervals.  Bytes stay; the books count one more block. */
static void split(struct mpr_regions *r, struct mpr_books *books, uint64_t address)
{
    const struct mpr_position place = mpr_intervals_after(&r->spans, address);
    struct mpr_interval *span = mpr_intervals_at(&r->spans, place);
    if (!span || span->start >= address) return;
    struct mpr_interval left = *span;
    left.end = address;
    mpr_intervals_insert(&r->spans, place, &left);
    span = first_after(r, address);
    const struct mpr_interval right = { address, span->end, span->what, span->writable };
    take_bytes(books, span);
    *span = right;
    give_bytes(books, &left, 0);
    give_bytes(books, &right, 0);
}

/* Splits at both ends and finds the intervals inside. */
static struct mpr_position cut_out(struct mpr_regions *r, struct mpr_books *books, uint64_t start,
                                   uint64_t end)
{
    split(r, books, start);
    split(r, books, end);
    return mpr_intervals_after(&r->spans, start);
}

/* The interval at the place, as long as it begins before `end`. */
static struct mpr_interval *inside(const struct mpr_regions *r, struct mpr_position place,
                                   uint64_t end)
{
    struct mpr_interval *span = mpr_intervals_at(&r->spans, place);
    return span && span->start < end ? span : NULL;
}

uint64_t mpr_regions_extent(const struct mpr_regions *r, uint64_t start)
{
    const struct mpr_interval *span = first_after(r, start);
    return span && span->start == start ? span->end - start : 0;
}

size_t mpr_regions_unmap(struct mpr_regions *r, struct mpr_books *books, uint64_t start,
                         uint64_t size)
{
    const uint64_t end = range_end(start, size);
    size_t count = 0;
    if (!size) return 0;
    const struct mpr_position first = cut_out(r, books, start, end);
    const struct mpr_interval *span;
    for (struct mpr_position at = first; (span = inside(r, at, end));
         at = mpr_intervals_next(&r->spans, at), count++)
        take_bytes(books, span);
    mpr_intervals_remove(&r->spans, first, count);
    return count;
}

size_t mpr_regions_map(struct mpr_regions *r, struct mpr_books *books, uint64_t start,
                       uint64_t size, uint32_t cell, bool writable, uint64_t time)
{
    const struct mpr_interval span = { start, range_end(start, size), cell, writable };
    if (!size) return 0;
    mpr_regions_unmap(r, books, start, size);
    insert(r, &span);
    give_bytes(books, &span, time);
    return 1;
}

size_t mpr_regions_protect(struct mpr_regions *r, struct mpr_books *books, uint64_t start,
                           uint64_t size, uint32_t cell, bool writable, uint64_t time)
{
    struct mpr_interval *span;
    const uint64_t end = range_end(start, size);
    size_t changed = 0;
    for (struct mpr_position at = cut_out(r, books, start, end); (span = inside(r, at, end));
         at = mpr_intervals_next(&r->spans, at)) {
        if (span->writable == writable) continue;
        take_bytes(books, span);
        span->writable = writable;
        if (writable) span->what = cell;
        give_bytes(books, span, time);
        changed++;
    }
    return changed;
}

/* ---- mremap */

void mpr_regions_leave(struct mpr_regions *r, struct mpr_books *books, uint64_t start,
                       uint64_t size, struct mpr_leaving *leaving)
{
    const uint64_t end = range_end(start, size);
    const struct mpr_interval *span;
    size_t count = 0;
    *leaving = (struct mpr_leaving){ .from = start, .size = size };
    if (!size) return;
    const struct mpr_position first = cut_out(r, books, start, end);
    for (struct mpr_position at = first; inside(r, at, end); at = mpr_intervals_next(&r->spans, at))
        count++;
    if (!count) return;
    leaving->count = count;
    leaving->span = mpr_alloc(count, sizeof *leaving->span);
    struct mpr_interval *copy = leaving->span;
    for (struct mpr_position at = first; (span = inside(r, at, end));
         at = mpr_intervals_next(&r->spans, at))
        *copy++ = *span;
    mpr_intervals_remove(&r->spans, first, count);
}

/* The interval at its new place, clipped to that; false: nothing is left of it. */
static bool shift(struct mpr_interval *span, const struct mpr_leaving *leaving,
                  const uint64_t to[2])
{
    const uint64_t limit = range_end(to[0], to[1]);
    span->start = span->start - leaving->from + to[0];
    span->end = span->end - leaving->from + to[0];
    if (span->end > limit) span->end = limit;
    return span->start < span->end;
}

static void put(struct mpr_regions *r, struct mpr_books *books, const struct mpr_interval *span,
                uint64_t time)
{
    insert(r, span);
    give_bytes(books, span, time);
}

static void over(struct mpr_leaving *leaving)
{
    free(leaving->span);
    *leaving = (struct mpr_leaving){ 0 };
}

size_t mpr_regions_arrive(struct mpr_regions *r, struct mpr_books *books,
                          struct mpr_leaving *leaving, const uint64_t to[2], uint32_t cell,
                          uint64_t time)
{
    struct mpr_interval rest = { to[0] + leaving->size, range_end(to[0], to[1]), cell, false };
    size_t arrived = 0;
    for (size_t i = 0; i < leaving->count; i++) take_bytes(books, &leaving->span[i]);
    mpr_regions_unmap(r, books, to[0], to[1]);
    for (size_t i = 0; i < leaving->count; i++) {
        struct mpr_interval span = leaving->span[i];
        if (!shift(&span, leaving, to)) continue;
        rest.writable = span.writable;
        put(r, books, &span, time);
        arrived++;
    }
    if (arrived && to[1] > leaving->size) {
        put(r, books, &rest, time);
        arrived++;
    }
    over(leaving);
    return arrived;
}

/* What was mapped there meanwhile, which no kernel does, is newer. */
void mpr_regions_stay(struct mpr_regions *r, struct mpr_books *books, struct mpr_leaving *leaving)
{
    for (size_t i = 0; i < leaving->count; i++) {
        const struct mpr_interval *span = &leaving->span[i];
        const struct mpr_interval *other = first_after(r, span->start);
        if (other && other->start < span->end) take_bytes(books, span);
        else insert(r, span);
    }
    over(leaving);
}

bool mpr_regions_known(const struct mpr_regions *r, const struct mpr_books *books, uint64_t start,
                       uint64_t size, uint8_t *heap)
{
    const struct mpr_interval *span = first_after(r, start);
    if (!span || span->start >= range_end(start, size)) return false;
    *heap = books->cell[span->what].heap;
    return true;
}
