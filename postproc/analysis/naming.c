#include "naming.h"

#include <string.h>

#include "fold.h"

/* Rows by what has no path have names of their own: a thread's number, a class of sizes. */
static bool has_paths(enum mpr_group by)
{
    return by == MPR_GROUP_RANGE || by == MPR_GROUP_AUTO || by == MPR_GROUP_PYTHON ||
           by == MPR_GROUP_STACK || by == MPR_GROUP_GRAPH || by == MPR_GROUP_ALL;
}

static void tell(struct mpr_arena *arena, struct mpr_telling *telling, enum mpr_group by,
                 struct mpr_line *line)
{
    const struct mpr_told told =
        mpr_telling_of(telling, arena, line->row.path, line->row.depth, mpr_group_is_calls(by));
    line->row.path = told.path;
    line->row.depth = told.depth;
    line->caller = told.caller;
}

struct mpr_line mpr_naming_line(struct mpr_arena *arena, const struct mpr_naming *naming,
                                enum mpr_group by, const struct mpr_row *row)
{
    struct mpr_line line = mpr_line_of(row);
    if (naming->telling && has_paths(by)) tell(arena, naming->telling, by, &line);
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

size_t mpr_naming_fold(struct mpr_arena *arena, const struct mpr_naming *naming, enum mpr_group by,
                       struct mpr_line *line, size_t lines)
{
    return !naming->unfold && has_paths(by) ? mpr_fold(arena, line, lines) : lines;
}

size_t mpr_naming_fold_sides(struct mpr_arena *arena, const struct mpr_naming *naming,
                             enum mpr_group by, struct mpr_line *line, size_t lines, size_t older)
{
    return !naming->unfold && has_paths(by) ? mpr_fold_sides(arena, line, lines, older) : lines;
}

/* How many of the lines, largest first, have something of what they are ranked by; all where none
 * has. */
static size_t holding(const struct mpr_line *line, size_t lines, enum mpr_order order)
{
    size_t count = 0;
    while (count < lines && mpr_row_amount(&line[count].row, order)) count++;
    return count ? count : lines;
}

/* Rows of nothing are told and merged as the others, for they have allocations; only what holds
 * something folds. */
struct mpr_line *mpr_naming_lines(struct mpr_arena *arena, const struct mpr_naming *naming,
                                  enum mpr_group by, const struct mpr_row *row, size_t rows,
                                  size_t *lines, size_t *live)
{
    size_t all;
    struct mpr_line *line = mpr_naming_merge(arena, naming, by, row, rows, &all);
    mpr_lines_sort(line, all, naming->order);
    const size_t held = holding(line, all, naming->order);
    *live = mpr_naming_fold(arena, naming, by, line, held);
    mpr_lines_sort(line, *live, naming->order);
    memmove(line + *live, line + held, (all - held) * sizeof *line);
    *lines = *live + all - held;
    return line;
}
