#include "distinct_paths.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"

/* A value with its whole path, and the value that is shown. */
struct path {
    struct mpr_path whole;
    struct mpr_value *shown;
};

static int compare_shown(const struct path *a, const struct path *b)
{
    const int order = mpr_frame_compare_paths(a->shown->path, b->shown->path);
    return order ? order : strcmp(a->shown->caller, b->shown->caller);
}

static int by_shown(const void *left, const void *right)
{
    const struct path *a = left, *b = right;
    const int order = compare_shown(a, b);
    if (order) return order;
    return a->shown < b->shown ? -1 : a->shown > b->shown;
}

static int by_whole(const void *left, const void *right)
{
    const struct path *a = left, *b = right;
    const int order = mpr_frame_compare_paths(a->whole, b->whole);
    if (order) return order;
    return a->shown < b->shown ? -1 : a->shown > b->shown;
}

typedef void distinguish(struct mpr_arena *arena, struct path *path, size_t paths);

/* Adds the call in which each path differs from another one.  If it is in the function at the end
 * of the shown path, it replaces that function; otherwise it becomes the caller. */
static void by_calls(struct mpr_arena *arena, struct path *path, size_t paths)
{
    for (size_t i = paths; i-- > 0;) {
        struct mpr_value *v = path[i].shown;
        const size_t depth = v->path.depth;
        const struct mpr_frame *call = mpr_frame_difference(path[i].whole, path[i ? 0 : 1].whole);
        if (!call) continue;
        call = mpr_frame_short(arena, call);
        if (!depth || strcmp(v->path.frame[depth - 1]->text, call->name) != 0) {
            v->caller = call->text;
            continue;
        }
        const struct mpr_frame **frame = mpr_arena_alloc(arena, depth * sizeof *frame);
        memcpy(frame, v->path.frame, depth * sizeof *frame);
        frame[depth - 1] = call;
        v->path.frame = frame;
    }
}

/* The last resort: "caller #2". */
static void by_numbers(struct mpr_arena *arena, struct path *path, size_t paths)
{
    for (size_t i = 0, number = 1; i < paths; i++) {
        number += i && mpr_frame_compare_paths(path[i].whole, path[i - 1].whole) != 0;
        path[i].shown->caller = mpr_arena_format(arena, "%s%s#%zu", path[i].shown->caller,
                                                 *path[i].shown->caller ? " " : "", number);
    }
}

/* Rows with the same whole path may look the same. */
static void distinguish_equal(struct mpr_arena *arena, struct path *path, size_t paths,
                              distinguish *by)
{
    if (paths) qsort(path, paths, sizeof *path, by_shown);
    for (size_t i = 0, to; i < paths; i = to) {
        for (to = i + 1; to < paths && compare_shown(&path[i], &path[to]) == 0;) to++;
        if (to - i == 1) continue;
        qsort(&path[i], to - i, sizeof *path, by_whole);
        if (mpr_frame_compare_paths(path[i].whole, path[to - 1].whole) != 0)
            by(arena, &path[i], to - i);
    }
}

void mpr_distinct_paths(struct mpr_arena *arena, struct mpr_user_frames *user_frames,
                        enum mpr_group by, struct mpr_value *value, size_t values)
{
    struct path *path = mpr_alloc(values, sizeof *path);
    size_t paths = 0;
    for (struct mpr_value *v = value; v < value + values; v++) {
        if (v->type != MPR_PATH || v->state != MPR_KNOWN || v->shortened) continue;
        path[paths++] = (struct path){ v->path, v };
        const struct mpr_frame_summary told =
            mpr_user_frames_summary(user_frames, arena, v->path, mpr_group_is_calls(by));
        v->path = told.path;
        v->caller = told.caller;
    }
    distinguish_equal(arena, path, paths, by_calls);
    distinguish_equal(arena, path, paths, by_numbers);
    free(path);
}
