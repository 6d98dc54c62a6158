#include "naming.h"

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
    const bool calls = by == MPR_GROUP_STACK || by == MPR_GROUP_PYTHON;
    const struct mpr_told told =
        mpr_telling_of(telling, arena, line->row.path, line->row.depth, calls);
    line->row.path = told.path;
    line->row.depth = told.depth;
    line->caller = told.caller;
}

/* The rows that hold something first; how many. */
static size_t fill(struct mpr_line *line, const struct mpr_row *row, size_t rows)
{
    size_t live = 0, at;
    for (size_t i = 0; i < rows; i++)
        if (row[i].bytes) line[live++] = mpr_line_of(&row[i]);
    at = live;
    for (size_t i = 0; i < rows; i++)
        if (!row[i].bytes) line[at++] = mpr_line_of(&row[i]);
    return live ? live : rows;
}

struct mpr_line *mpr_naming_lines(struct mpr_arena *arena, const struct mpr_naming *naming,
                                  enum mpr_group by, const struct mpr_row *row, size_t rows,
                                  size_t *lines, size_t *live)
{
    struct mpr_line *line = mpr_arena_alloc(arena, rows * sizeof *line);
    const size_t all = fill(line, row, rows);
    for (size_t i = 0; naming->telling && has_paths(by) && i < all; i++)
        tell(arena, naming->telling, by, &line[i]);
    *live = mpr_lines_merge(line, all);
    if (!naming->unfold && has_paths(by)) *live = mpr_fold(arena, line, *live);
    *lines = *live + rows - all;
    for (size_t i = all; i < rows; i++) line[*live + i - all] = line[i];
    return line;
}
