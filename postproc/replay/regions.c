#include "regions.h"

#include <stdlib.h>
#include <string.h>

void mpr_regions_free(struct mpr_regions *r) { free(r->at); }

static uint64_t range_end(uint64_t start,
                          uint64_t size) { return size > UINT64_MAX - start ? UINT64_MAX : start + size; }

/* Index of the first interval that ends after `address`. */
static size_t first_after(const struct mpr_regions *r, uint64_t address)
{
    size_t low = 0, high = r->count;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (r->at[mid].end > address) high = mid;
        else low = mid + 1;
    }
    return low;
}

/* Every operation adds at most two intervals: the room is made before anything changes. */
static int make_room(struct mpr_regions *r, size_t more)
{
    if (r->count + more <= r->cap) return 0;
    const size_t cap = (r->count + more) * 2;
    struct mpr_region *at = realloc(r->at, cap * sizeof *at);
    if (!at) return -1;
    r->at = at;
    r->cap = cap;
    return 0;
}

static void insert(struct mpr_regions *r, size_t index, struct mpr_region region)
{
    memmove(r->at + index + 1, r->at + index, (r->count - index) * sizeof *r->at);
    r->at[index] = region;
    r->count++;
}

static void take_bytes(struct mpr_books *books, const struct mpr_region *region)
{
    if (region->writable) mpr_books_remove(books, region->cell, region->end - region->start);
}

static void give_bytes(struct mpr_books *books, const struct mpr_region *region, uint64_t time)
{
    if (region->writable) mpr_books_add(books, region->cell, region->end - region->start, time);
}

/* Makes `address` a border between intervals.  Bytes stay; the books count one more block. */
static void split(struct mpr_regions *r, struct mpr_books *books, uint64_t address)
{
    const size_t i = first_after(r, address);
    if (i == r->count || r->at[i].start >= address) return;
    struct mpr_region right = r->at[i];
    take_bytes(books, &r->at[i]);
    r->at[i].end = right.start = address;
    give_bytes(books, &r->at[i], 0);
    give_bytes(books, &right, 0);
    insert(r, i + 1, right);
}

/* Splits at both ends; [*first, *last) are the intervals inside. */
static int cut_out(struct mpr_regions *r, struct mpr_books *books, uint64_t start, uint64_t end, size_t *first,
                   size_t *last)
{
    if (make_room(r, 3) != 0) return -1;
    split(r, books, start);
    split(r, books, end);
    *first = first_after(r, start);
    *last = *first;
    while (*last < r->count && r->at[*last].start < end) ++*last;
    return 0;
}

uint64_t mpr_regions_extent(const struct mpr_regions *r, uint64_t start)
{
    const size_t i = first_after(r, start);
    return i < r->count && r->at[i].start == start ? r->at[i].end - start : 0;
}

long mpr_regions_unmap(struct mpr_regions *r, struct mpr_books *books, uint64_t start, uint64_t size)
{
    size_t first, last;
    if (!size) return 0;
    if (cut_out(r, books, start, range_end(start, size), &first, &last) != 0) return -1;
    for (size_t i = first; i < last; i++) take_bytes(books, &r->at[i]);
    memmove(r->at + first, r->at + last, (r->count - last) * sizeof *r->at);
    r->count -= last - first;
    return (long)(last - first);
}

long mpr_regions_map(struct mpr_regions *r, struct mpr_books *books, uint64_t start, uint64_t size, uint32_t cell,
                     bool writable, uint64_t time)
{
    const struct mpr_region region = { start, range_end(start, size), cell, writable };
    if (!size) return 0;
    if (mpr_regions_unmap(r, books, start, size) < 0 || make_room(r, 1) != 0) return -1;
    insert(r, first_after(r, start), region);
    give_bytes(books, &region, time);
    return 1;
}

long mpr_regions_protect(struct mpr_regions *r, struct mpr_books *books, uint64_t start, uint64_t size,
                         uint32_t cell, bool writable, uint64_t time)
{
    size_t first, last;
    long changed = 0;
    if (cut_out(r, books, start, range_end(start, size), &first, &last) != 0) return -1;
    for (size_t i = first; i < last; i++) {
        struct mpr_region *region = &r->at[i];
        if (region->writable == writable) continue;
        take_bytes(books, region);
        region->writable = writable;
        if (writable) region->cell = cell;
        give_bytes(books, region, time);
        changed++;
    }
    return changed;
}

/* Copies the intervals of [from[0], from[0] + from[1]), shifted to to[0] and clipped to to[1] bytes. */
static size_t copy_moved(const struct mpr_regions *r, size_t first, size_t last, const uint64_t from[2],
                         const uint64_t to[2],
                         struct mpr_region *out)
{
    size_t count = 0;
    const uint64_t limit = range_end(to[0], to[1]);
    for (size_t i = first; i < last; i++) {
        struct mpr_region moved = r->at[i];
        moved.start = moved.start - from[0] + to[0];
        moved.end = moved.end - from[0] + to[0];
        if (moved.end > limit) moved.end = limit;
        if (moved.start < moved.end) out[count++] = moved;
    }
    return count;
}

long mpr_regions_move(struct mpr_regions *r, struct mpr_books *books, const uint64_t from[2], const uint64_t to[2],
                      uint32_t cell, uint64_t time)
{
    size_t first, last;
    if (cut_out(r, books, from[0], range_end(from[0], from[1]), &first, &last) != 0) return -1;
    struct mpr_region *moved = calloc(last - first + 1, sizeof *moved);
    if (!moved || make_room(r, last - first + 3) != 0) {
        free(moved);
        return -1;
    }
    size_t count = copy_moved(r, first, last, from, to, moved);
    if (count && to[1] > from[1]) {
        const bool writable = moved[count - 1].writable;
        moved[count++] = (struct mpr_region){ to[0] + from[1], range_end(to[0], to[1]), cell, writable };
    }
    mpr_regions_unmap(r, books, from[0], from[1]);
    mpr_regions_unmap(r, books, to[0], to[1]);
    for (size_t i = 0; i < count; i++) {
        insert(r, first_after(r, moved[i].start), moved[i]);
        give_bytes(books, &moved[i], time);
    }
    free(moved);
    return (long)count;
}

bool mpr_regions_known(const struct mpr_regions *r, const struct mpr_books *books, uint64_t start, uint64_t size,
                       uint8_t *heap)
{
    const size_t i = first_after(r, start);
    if (i == r->count || r->at[i].start >= range_end(start, size)) return false;
    *heap = books->cell[r->at[i].cell].heap;
    return true;
}
