/* Driver blocks and PyTorch's blocks are sorted by address: one walk over both finds what lies
 * where. */
#include "walk.h"

#include <string.h>

#include "amount.h"
#include "mpf/sample.h"

/* ---- what is a segment */

static bool holds_torch(const struct mpr_picture *p, const struct mpr_gpu_block *segment)
{
    size_t low = 0, high = p->torches;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (p->torch[middle].addr + p->torch[middle].size <= segment->addr) low = middle + 1;
        else high = middle;
    }
    return low < p->torches && p->torch[low].addr < segment->addr + segment->size;
}

/* By who asked for it; where that does not tell (no call stack, PyTorch linked into the program, a
 * plug-in that woke it), by what lies in it. */
bool mpr_walk_is_segment(const struct mpr_picture *p, const struct mpr_gpu_block *b)
{
    if (mpf_heap_code(b->heap) != MPF_HEAP_DEVICE || !b->addr) return false;
    return b->segment || holds_torch(p, b);
}

bool mpr_walk_expands(const struct mpr_sites *sites, uint32_t library)
{
    const char *name = mpr_sites_library_name(sites, library);
    return !*name || !strncmp(name, "libc10_cuda", 11);
}

static bool is_expandable(const struct mpr_walk *w, const struct mpr_gpu_block *b)
{
    return b->handle && mpr_walk_expands(w->sites, b->library);
}

static size_t pieces(const struct mpr_walk *w, const struct mpr_gpu_block *b)
{
    const struct mpr_gpu_block *end = w->picture->driver + w->picture->drivers;
    size_t n = 1;
    while (is_expandable(w, b) && b + n < end && b[n].handle &&
           b[n].addr == b[n - 1].addr + b[n - 1].size && b[n].capture == b->capture &&
           mpr_walk_is_segment(w->picture, &b[n]))
        n++;
    return n;
}

/* ---- what lies in it */

/* Its end, and at most where the next block of the driver begins: blocks that overlap, as no driver
 * makes them, are not looked into twice. */
static uint64_t end_of(const struct mpr_walk *w, const struct mpr_walked *s)
{
    const struct mpr_gpu_block *next = s->piece + s->pieces;
    const uint64_t end = s->piece->addr + s->bytes;
    return next < w->picture->driver + w->picture->drivers && next->addr < end ? next->addr : end;
}

static void note(uint64_t *largest, uint64_t from, uint64_t to)
{
    if (mpr_less(to, from) > *largest) *largest = to - from;
}

/* `piece`: the first that may begin in the hole. */
static void look_at_hole(struct mpr_walked *s, size_t *piece, uint64_t from, uint64_t to)
{
    note(&s->hole, from, to);
    while (*piece < s->pieces && s->piece[*piece].addr < from) (*piece)++;
    for (; *piece < s->pieces; (*piece)++) {
        const struct mpr_gpu_block *p = &s->piece[*piece];
        if (p->addr >= to || p->size > to - p->addr) break;
        note(&s->split_hole, from, p->addr);
        s->idle += p->size;
        from = p->addr + p->size;
    }
    note(&s->split_hole, from, to);
}

static void look_inside(struct mpr_walk *w, struct mpr_walked *s)
{
    const struct mpr_picture *p = w->picture;
    const uint64_t begin = s->piece->addr, end = end_of(w, s);
    uint64_t cursor = begin;
    size_t piece = 0;
    /* The last block that begins at or before it, or the first of all. */
    while (w->torch + 1 < p->torches && p->torch[w->torch + 1].addr <= begin) w->torch++;
    s->from = w->torch;
    if (s->from < p->torches && p->torch[s->from].addr + p->torch[s->from].size <= begin) s->from++;
    for (s->to = s->from; s->to < p->torches && p->torch[s->to].addr < end; s->to++) {
        const struct mpr_gpu_block *b = &p->torch[s->to];
        const uint64_t from = b->addr > begin ? b->addr : begin,
                       to = b->addr + b->size < end ? b->addr + b->size : end;
        look_at_hole(s, &piece, cursor, from);
        if (to > cursor) cursor = to;
        s->live += mpr_less(to, from);
        s->blocks += b->addr >= begin;
        if (!s->oldest || b->time < s->oldest->time) s->oldest = b;
    }
    look_at_hole(s, &piece, cursor, end);
}

bool mpr_walk_next(struct mpr_walk *w, struct mpr_walked *s)
{
    const struct mpr_picture *p = w->picture;
    while (w->driver < p->drivers && !mpr_walk_is_segment(p, &p->driver[w->driver])) w->driver++;
    if (w->driver == p->drivers) return false;
    const struct mpr_gpu_block *first = &p->driver[w->driver];
    *s = (struct mpr_walked){ .piece = first,
                              .pieces = pieces(w, first),
                              .expandable = is_expandable(w, first) };
    const struct mpr_gpu_block *last = first + s->pieces - 1;
    s->bytes = last->addr + last->size - first->addr;
    look_inside(w, s);
    w->driver += s->pieces;
    return true;
}
