#include "alike.h"

#include <stdlib.h>

#include "alloc.h"
#include "row.h"

/* ---- order */

static int by_number(uint64_t a, uint64_t b) { return a < b ? -1 : a > b; }

static int by_shape(const struct mpr_segment *a, const struct mpr_segment *b)
{
    int order = by_number(a->bytes, b->bytes);
    if (!order) order = by_number(a->free, b->free);
    if (!order) order = by_number(a->largest_hole, b->largest_hole);
    if (!order) order = by_number(a->state, b->state);
    if (!order) order = by_number(a->pool[0], b->pool[0]);
    return order ? order : by_number(a->pool[1], b->pool[1]);
}

static int by_path(const struct mpr_segment *a, const struct mpr_segment *b)
{
    if (!a->oldest.frame || !b->oldest.frame) return !!a->oldest.frame - !!b->oldest.frame;
    return mpr_frame_compare_paths(a->oldest, b->oldest);
}

static int by_shape_and_path(const void *left, const void *right)
{
    const struct mpr_segment *a = *(const struct mpr_segment *const *)left,
                             *b = *(const struct mpr_segment *const *)right;
    int order = by_shape(a, b);
    if (!order) order = by_path(a, b);
    return order ? order : by_number(a->addr, b->addr);
}

static int by_free(const void *left, const void *right)
{
    const struct mpr_alike *a = left, *b = right;
    int order = by_number(b->free, a->free);
    if (!order) order = by_number(b->bytes, a->bytes);
    return order ? order : by_number(a->oldest->addr, b->oldest->addr);
}

/* ---- shapes */

static bool is_older(const struct mpr_segment *a, const struct mpr_segment *b)
{
    return a->oldest.frame && (!b->oldest.frame || a->oldest_time < b->oldest_time);
}

static void add(struct mpr_alike *shape, const struct mpr_segment *s, bool new_path)
{
    if (is_older(s, shape->oldest)) shape->oldest = s;
    shape->segments++;
    shape->bytes += s->bytes;
    shape->free += s->free;
    shape->blocks += s->blocks;
    shape->paths += new_path && s->oldest.frame;
}

struct mpr_alike *mpr_alike(struct mpr_arena *arena, const struct mpr_segment *segment,
                            size_t segments, bool apart, size_t *shapes)
{
    struct mpr_alike *shape = mpr_arena_alloc(arena, segments * sizeof *shape);
    const struct mpr_segment **order = mpr_alloc(segments, sizeof *order);
    size_t count = 0;
    for (size_t i = 0; i < segments; i++) order[i] = &segment[i];
    qsort(order, segments, sizeof *order, by_shape_and_path);
    for (size_t i = 0; i < segments; i++) {
        const bool new_shape = !i || apart || by_shape(order[i], order[i - 1]) != 0;
        if (new_shape) shape[count++] = (struct mpr_alike){ .oldest = order[i] };
        add(&shape[count - 1], order[i], new_shape || by_path(order[i], order[i - 1]) != 0);
    }
    free(order);
    if (count) qsort(shape, count, sizeof *shape, by_free);
    *shapes = count;
    return shape;
}
