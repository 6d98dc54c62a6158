#include "naming.h"

#include <ctype.h>
#include <string.h>

#include "numbered_names.h"
#include "units.h"

/* Returns false for groups whose rows have labels: a thread, a size class. */
static bool has_paths(enum mpr_group by)
{
    return by == MPR_GROUP_RANGE || by == MPR_GROUP_AUTO || by == MPR_GROUP_PYTHON ||
           by == MPR_GROUP_STACK || by == MPR_GROUP_GRAPH || by == MPR_GROUP_ALL;
}

struct mpr_line mpr_naming_line(struct mpr_arena *arena, const struct mpr_naming *naming,
                                enum mpr_group by, const struct mpr_row *row)
{
    struct mpr_line line = mpr_line_of(row);
    if (!has_paths(by)) return line;
    if (naming->user_frames) {
        const struct mpr_frame_summary summary =
            mpr_user_frames_summary(naming->user_frames, arena, row->path, mpr_group_is_calls(by));
        line.row.path = summary.path;
        line.caller = summary.caller;
        return line;
    }
    const struct mpr_frame **path = mpr_arena_alloc(arena, row->path.depth * sizeof *path);
    for (size_t i = 0; i < row->path.depth; i++)
        path[i] = mpr_frame_short(arena, row->path.frame[i]);
    line.row.path.frame = path;
    return line;
}

struct mpr_line *mpr_naming_merge(struct mpr_arena *arena, const struct mpr_naming *naming,
                                  enum mpr_group by, const struct mpr_row *row, size_t rows,
                                  size_t *lines)
{
    struct mpr_line *line = mpr_arena_alloc(arena, rows * sizeof *line);
    struct mpr_row_link *link = mpr_arena_alloc(arena, rows * sizeof *link);
    for (size_t i = 0; i < rows; i++) {
        link[i] = (struct mpr_row_link){ &link[i], &row[i] };
        line[i] = mpr_naming_line(arena, naming, by, &row[i]);
        line[i].link = &link[i];
    }
    *lines = mpr_lines_merge(line, rows);
    return line;
}

/* Returns the path by which a thread is grouped: "worker 3", or "worker" and "12" for "worker12".
 * For a thread without a number in its name it is the thread itself. */
static struct mpr_path thread_path(struct mpr_arena *arena, const struct mpr_frame *thread)
{
    enum { DIGITS = 9 };
    struct mpr_name_number place;
    const struct mpr_frame **path = mpr_arena_alloc(arena, 2 * sizeof *path);
    const char *name = thread->name;
    const size_t bare = thread->line ? strlen(name) : 0;
    size_t digits = 0; /* at the end of the name */
    while (digits < bare && isdigit((unsigned char)name[bare - 1 - digits])) digits++;
    const char *number = name + bare - digits;
    if (digits > DIGITS || digits == bare || !isalpha((unsigned char)number[-1]) ||
        (*number == '0' && digits > 1))
        digits = 0;
    path[0] = thread;
    if (digits) {
        const char *pool = mpr_arena_format(arena, "%.*s", (int)(bare - digits), name);
        path[0] = mpr_frame_named(arena, MPR_FRAME_LABEL, pool);
        path[1] = mpr_frame_named(arena, MPR_FRAME_LABEL, number);
    } else if (bare && mpr_numbers_in_name(name, &place, 1))
        path[0] = mpr_frame_named(arena, MPR_FRAME_LABEL, name);
    return (struct mpr_path){ path, digits ? 2 : 1 };
}

/* Groups threads by their names, without the kernel's numbers.  Each line gets links to its rows,
 * as from mpr_naming_merge. */
static size_t group_threads(struct mpr_arena *arena, struct mpr_line *line, size_t lines)
{
    struct mpr_row_link *link = mpr_arena_alloc(arena, lines * sizeof *link);
    struct mpr_row *row = mpr_arena_alloc(arena, lines * sizeof *row);
    for (size_t i = 0; i < lines; i++) {
        row[i] = line[i].row;
        link[i] = (struct mpr_row_link){ &link[i], &row[i] };
        if (!line[i].link) line[i].link = &link[i];
        if (line[i].row.path.depth == 1)
            line[i].row.path = thread_path(arena, line[i].row.path.frame[0]);
    }
    lines = mpr_lines_group(arena, line, mpr_lines_merge(line, lines));
    for (size_t i = 0; i < lines; i++) {
        struct mpr_line *l = &line[i];
        if (l->link->row->path.depth != 1) continue;
        if (l->rows > 1) { /* one label, "worker {0..7} (8 threads)" */
            struct mpr_number n;
            const struct mpr_path path = l->row.path;
            const char *text = mpr_arena_format(arena, "%s%s (%s threads)", path.frame[0]->text,
                                                path.depth > 1 ? path.frame[1]->text : "",
                                                mpr_units_count(&n, l->rows));
            l->row.path = mpr_frame_labels(arena, &text, 1);
        } else l->row.path = l->link->row->path;
    }
    return mpr_lines_merge(line, lines);
}

size_t mpr_naming_group(struct mpr_arena *arena, const struct mpr_naming *naming, enum mpr_group by,
                        struct mpr_line *line, size_t lines)
{
    if (!naming->unfold && by == MPR_GROUP_THREAD) return group_threads(arena, line, lines);
    return !naming->unfold && has_paths(by) ? mpr_lines_group(arena, line, lines) : lines;
}

size_t mpr_naming_group_sides(struct mpr_arena *arena, const struct mpr_naming *naming,
                              enum mpr_group by, struct mpr_line *line, size_t lines, size_t older)
{
    return !naming->unfold && has_paths(by) ? mpr_lines_group_sides(arena, line, lines, older)
                                            : lines;
}

/* If no line has an amount, all are grouped. */
struct mpr_line *mpr_naming_lines(struct mpr_arena *arena, const struct mpr_naming *naming,
                                  enum mpr_group by, const struct mpr_row *row, size_t rows,
                                  size_t *lines, size_t *live)
{
    size_t all;
    struct mpr_line *line = mpr_naming_merge(arena, naming, by, row, rows, &all);
    mpr_lines_sort(line, all, naming->order);
    size_t held = 0;
    while (held < all && mpr_row_amount(&line[held].row, naming->order)) held++;
    if (!held) held = all;
    *live = mpr_naming_group(arena, naming, by, line, held);
    mpr_lines_sort(line, *live, naming->order);
    memmove(line + *live, line + held, (all - held) * sizeof *line);
    *lines = *live + all - held;
    return line;
}
