#include "told.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"

/* One value: its path as it was, and as it is shown. */
struct path {
    struct mpr_value whole, *shown;
};

static int compare_names(const struct mpr_value *a, const struct mpr_value *b)
{
    return mpr_frame_compare_paths(a->path, b->path);
}

static int compare_shown(const struct path *a, const struct path *b)
{
    const int order = compare_names(a->shown, b->shown);
    return order ? order : strcmp(a->shown->caller, b->shown->caller);
}

static int by_shown(const void *left, const void *right)
{
    const struct path *a = left, *b = right;
    const int order = compare_shown(a, b);
    if (order) return order;
    return a->shown < b->shown ? -1 : a->shown > b->shown;
}

/* ---- what looks alike */

typedef void part_paths(struct mpr_arena *arena, struct path *path, size_t paths);

/* Is it the line of the function that the path ends with? */
static bool is_of_last(const struct mpr_value *v, const struct mpr_frame *call)
{
    return v->path.depth && strcmp(v->path.frame[v->path.depth - 1]->text, call->name) == 0;
}

static void end_with(struct mpr_arena *arena, struct mpr_value *v, const struct mpr_frame *call)
{
    const size_t depth = v->path.depth;
    const struct mpr_frame **frame = mpr_arena_alloc(arena, depth * sizeof *frame);
    memcpy(frame, v->path.frame, depth * sizeof *frame);
    frame[depth - 1] = call;
    v->path.frame = frame;
}

/* Each by the call in which it differs from another one. */
static void by_calls(struct mpr_arena *arena, struct path *path, size_t paths)
{
    for (size_t i = paths; i-- > 0;) {
        const struct mpr_value *own = &path[i].whole, *other = &path[i ? 0 : 1].whole;
        const struct mpr_frame *call = mpr_telling_difference(own->path, other->path);
        if (!call) continue;
        call = mpr_telling_short(arena, call);
        if (is_of_last(path[i].shown, call)) end_with(arena, path[i].shown, call);
        else path[i].shown->caller = call->text;
    }
}

/* Where nothing else is left: "caller #2". */
static void by_numbers(struct mpr_arena *arena, struct path *path, size_t paths)
{
    for (size_t i = 0, number = 1; i < paths; i++) {
        number += i && compare_names(&path[i].whole, &path[i - 1].whole) != 0;
        path[i].shown->caller = mpr_arena_format(arena, "%s%s#%zu", path[i].shown->caller,
                                                 *path[i].shown->caller ? " " : "", number);
    }
}

static int by_whole(const void *left, const void *right)
{
    const struct path *a = left, *b = right;
    const int order = compare_names(&a->whole, &b->whole);
    if (order) return order;
    return a->shown < b->shown ? -1 : a->shown > b->shown;
}

/* Several rows of one path look alike, and may. */
static void part_alike(struct mpr_arena *arena, struct path *path, size_t paths, part_paths *part)
{
    if (paths) qsort(path, paths, sizeof *path, by_shown);
    for (size_t i = 0, to; i < paths; i = to) {
        for (to = i + 1; to < paths && compare_shown(&path[i], &path[to]) == 0;) to++;
        if (to - i == 1) continue;
        qsort(&path[i], to - i, sizeof *path, by_whole);
        if (compare_names(&path[i].whole, &path[to - 1].whole) != 0) part(arena, &path[i], to - i);
    }
}

/* ---- all */

static bool is_to_be_told(const struct mpr_value *v)
{
    return v->type == MPR_PATH && v->state == MPR_KNOWN && !v->told;
}

static void tell(struct mpr_arena *arena, struct mpr_telling *telling, bool calls,
                 struct mpr_value *v)
{
    const struct mpr_told told = mpr_telling_of(telling, arena, v->path, calls);
    v->path = told.path;
    v->caller = told.caller;
}

void mpr_told(struct mpr_arena *arena, struct mpr_telling *telling, enum mpr_group by,
              struct mpr_value *value, size_t values)
{
    struct path *path = mpr_alloc(values, sizeof *path);
    size_t paths = 0;
    for (size_t i = 0; i < values; i++) {
        if (!is_to_be_told(&value[i])) continue;
        path[paths++] = (struct path){ value[i], &value[i] };
        tell(arena, telling, mpr_group_is_calls(by), &value[i]);
    }
    part_alike(arena, path, paths, by_calls);
    part_alike(arena, path, paths, by_numbers);
    free(path);
}
