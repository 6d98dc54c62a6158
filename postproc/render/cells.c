#include "cells.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "units.h"

/* Returns the text of a number, or NULL for types without one. */
static const char *number_text(struct mpr_number *n, const struct mpr_table *t,
                               const struct mpr_value *v)
{
    switch (v->type) {
    case MPR_BYTES: return mpr_units_size(n, v->number);
    case MPR_SIGNED: return mpr_units_signed(n, v->amount);
    case MPR_CHANGE: return mpr_units_change(n, v->amount);
    case MPR_COUNT: return mpr_units_count(n, v->number);
    case MPR_TIME:
        return mpr_units_clock(n, v->lasting ? 0 : t->epoch, v->number,
                               t->tick ? t->tick : 1000000);
    case MPR_SPAN: return mpr_units_span(n, v->number);
    case MPR_ADDRESS: snprintf(n->text, sizeof n->text, "%#" PRIx64, v->number); return n->text;
    case MPR_SHARE: snprintf(n->text, sizeof n->text, "%.1f %%", v->percent); return n->text;
    case MPR_FLAG: return v->number ? "yes" : "no";
    default: return NULL;
    }
}

const char *mpr_cell_number(struct mpr_words *words, const struct mpr_table *t,
                            const struct mpr_value *v, bool estimated)
{
    struct mpr_number plain;
    if (v->state != MPR_KNOWN) return v->state == MPR_UNKNOWN ? "-" : "";
    const char *text = number_text(&plain, t, v);
    if (!text) return NULL;
    snprintf(words->text, sizeof words->text, "%s%s%s", v->at_least ? "≥" : "",
             estimated || v->about ? "~" : "", text);
    return words->text;
}

void mpr_cell_text(FILE *out, const struct mpr_cell_style *style, enum mpr_group by,
                   const struct mpr_value *v)
{
    if (v->type == MPR_TEXT || v->type == MPR_WORD) style->text(out, v->text);
    for (size_t i = 0; v->type == MPR_NUMBERS && i < v->count; i++)
        fprintf(out, "%s%" PRIu64, i ? ":" : "", v->numbers[i]);
    if (v->type != MPR_PATH) return;
    if (!v->path.depth) style->text(out, mpr_group_empty_path(by));
    for (size_t i = 0; i < v->path.depth; i++) {
        if (i) fputs(style->separator, out);
        style->text(out, v->path.frame[i]->text);
    }
}

void mpr_cell_write(FILE *out, const struct mpr_cell_style *style, const struct mpr_table *t,
                    const struct mpr_value *v, bool estimated)
{
    struct mpr_words words;
    const char *number = mpr_cell_number(&words, t, v, estimated);
    if (number) fputs(number, out);
    else mpr_cell_text(out, style, t->by, v);
}

size_t mpr_cell_sums(const struct mpr_table *t, enum mpr_format format)
{
    size_t count = 0;
    for (size_t i = 0; i < t->columns; i++)
        count += t->column[i].sums && mpr_column_is_in(&t->column[i], format);
    return count;
}

bool mpr_cell_estimated(const struct mpr_table *t, const struct mpr_column *c, size_t from,
                        enum mpr_format format)
{
    for (size_t i = from; c->estimate && t->estimated && i < t->rows; i++)
        if (t->estimated(mpr_table_row(t, i, format))) return true;
    return false;
}

const char *mpr_cell_rest(struct mpr_words *rest, const struct mpr_table *t, size_t shown,
                          enum mpr_format format)
{
    struct mpr_number count, n;
    mpr_units_count(&count, t->rows - shown);
    if (t->total || mpr_cell_sums(t, format) != 1) {
        snprintf(rest->text, sizeof rest->text, "(%s more)", count.text);
        return rest->text;
    }
    const struct mpr_column *c = t->column;
    while (!c->sums || !mpr_column_is_in(c, format)) c++;
    const struct mpr_value sum = mpr_table_sum(t, c, shown, format);
    if (sum.type == MPR_BYTES && sum.state == MPR_KNOWN && !sum.number) return NULL;
    const bool about = sum.state == MPR_KNOWN && format & MPR_FOR_PEOPLE &&
                       mpr_cell_estimated(t, c, shown, format);
    snprintf(rest->text, sizeof rest->text, "(%s more, %s%s)", count.text, about ? "~" : "",
             sum.state == MPR_KNOWN ? number_text(&n, t, &sum) : "-");
    return rest->text;
}

/* ---- distinct paths */

/* A value with its whole path, and the value that is shown. */
struct path {
    struct mpr_path whole;
    struct mpr_value *shown;
};

static int compare_shown(const struct path *a, const struct path *b)
{
    return mpr_frame_compare_paths(a->shown->path, b->shown->path)
               ?: strcmp(a->shown->caller, b->shown->caller);
}

/* Values that compare equal stay in the order of the rows. */
MPR_COMPARE(by_shown, struct path,
            compare_shown(a, b) ?: mpr_compare((uintptr_t)a->shown, (uintptr_t)b->shown))
MPR_COMPARE(by_whole, struct path,
            mpr_frame_compare_paths(a->whole, b->whole)
                ?: mpr_compare((uintptr_t)a->shown, (uintptr_t)b->shown))

typedef void distinguish(struct mpr_arena *arena, struct path *path, size_t paths);

/* Returns the depth of a shown call in the whole path, from 1, or 0 if it is not there. */
static size_t depth_of(struct mpr_arena *arena, struct mpr_path whole, const struct mpr_frame *call)
{
    size_t depth = whole.depth;
    for (; depth; depth--) {
        const struct mpr_frame *f = mpr_frame_short(arena, whole.frame[depth - 1]);
        if (f->line == call->line && !strcmp(f->name, call->name) && !strcmp(f->file, call->file) &&
            !strcmp(f->object, call->object))
            break;
    }
    return depth;
}

/* Adds the call in which each path differs from another one: before the first shown call if it is
 * outside of that, otherwise at the end of the path.  If the path ends with that function, the call
 * replaces it. */
static void distinguish_by_calls(struct mpr_arena *arena, struct path *path, size_t paths)
{
    for (size_t i = paths; i-- > 0;) {
        struct mpr_value *v = path[i].shown;
        const struct mpr_path whole = path[i].whole, shown = v->path;
        const size_t depth = shown.depth,
                     differs = mpr_frame_difference(whole, path[i ? 0 : 1].whole);
        if (!differs) continue;
        const struct mpr_frame *call = mpr_frame_short(arena, whole.frame[differs - 1]);
        const bool replaces = depth && strcmp(shown.frame[depth - 1]->text, call->name) == 0;
        size_t ranges = 0; /* they precede the calls */
        while (ranges < depth && !mpr_frame_is_call(shown.frame[ranges])) ranges++;
        const bool outside =
            ranges < depth && differs <= depth_of(arena, whole, shown.frame[ranges]);
        if (outside && !ranges && !replaces) {
            v->caller = call->text;
            continue;
        }
        const size_t at = replaces ? depth - 1 : outside ? ranges : depth;
        const struct mpr_frame **frame = mpr_arena_alloc(arena, (depth + 1) * sizeof *frame);
        memcpy(frame, shown.frame, at * sizeof *frame);
        frame[at] = call;
        if (!replaces) memcpy(frame + at + 1, shown.frame + at, (depth - at) * sizeof *frame);
        v->path = (struct mpr_path){ frame, depth + !replaces };
    }
}

/* Numbers paths that no call distinguishes: "caller #2". */
static void distinguish_by_numbers(struct mpr_arena *arena, struct path *path, size_t paths)
{
    for (size_t i = 0, number = 1; i < paths; i++) {
        number += i && mpr_frame_compare_paths(path[i].whole, path[i - 1].whole) != 0;
        path[i].shown->caller = mpr_arena_format(arena, "%s%s#%zu", path[i].shown->caller,
                                                 *path[i].shown->caller ? " " : "", number);
    }
}

/* Calls @by for each group of paths that look the same but differ. */
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
        const struct mpr_frame_summary summary =
            mpr_user_frames_summary(user_frames, arena, v->path, mpr_group_is_calls(by));
        v->path = summary.path;
        v->caller = summary.caller;
    }
    distinguish_equal(arena, path, paths, distinguish_by_calls);
    distinguish_equal(arena, path, paths, distinguish_by_numbers);
    free(path);
}
