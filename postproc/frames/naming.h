/* Makes lines for people from rows: each path is shortened to the user's frame (user_frame.h),
 * lines that differ only in numbers are grouped, and no two lines have the same text. */
#ifndef MPR_NAMING_H
#define MPR_NAMING_H

#include <stdbool.h>
#include <stddef.h>

#include "group.h"
#include "row.h"
#include "user_frame.h"

struct mpr_naming {
    struct mpr_user_frames *user_frames; /* NULL: paths are shown whole */
    bool unfold;                         /* lines are not grouped */
    enum mpr_order order;                /* of the lines */
};

/* Returns the lines of rows grouped by `by`, largest first, in the arena.  The first *live lines
 * have an amount of naming->order; lines without one follow and are not grouped. */
struct mpr_line *mpr_naming_lines(struct mpr_arena *arena, const struct mpr_naming *naming,
                                  enum mpr_group by, const struct mpr_row *row, size_t rows,
                                  size_t *lines, size_t *live);

/* ---- the steps of mpr_naming_lines, for callers that add other amounts to the lines */

/* Returns the line of one row with its path shortened. */
struct mpr_line mpr_naming_line(struct mpr_arena *arena, const struct mpr_naming *naming,
                                enum mpr_group by, const struct mpr_row *row);
/* Returns lines in the arena, one for all rows of the same text, with links to those rows; largest
 * first. */
struct mpr_line *mpr_naming_merge(struct mpr_arena *arena, const struct mpr_naming *naming,
                                  enum mpr_group by, const struct mpr_row *row, size_t rows,
                                  size_t *lines);
/* Groups lines that differ only in numbers (mpr_lines_group) in place, and returns how many are
 * left. */
size_t mpr_naming_group(struct mpr_arena *arena, const struct mpr_naming *naming, enum mpr_group by,
                        struct mpr_line *line, size_t lines);
/* Does the same with mpr_lines_group_sides. */
size_t mpr_naming_group_sides(struct mpr_arena *arena, const struct mpr_naming *naming,
                              enum mpr_group by, struct mpr_line *line, size_t lines, size_t older);

#endif
