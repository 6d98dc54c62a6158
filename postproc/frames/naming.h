/* Rows as the lines that people read: each path is shortened to the user's frame
 * (user_frame.h), similar numbers are grouped, and no two lines have one text. */
#ifndef MPR_NAMING_H
#define MPR_NAMING_H

#include <stdbool.h>
#include <stddef.h>

#include "group.h"
#include "row.h"
#include "user_frame.h"

struct mpr_naming {
    struct mpr_user_frames *user_frames; /* NULL: paths are shown whole */
    bool unfold;                         /* numbers are not grouped */
    enum mpr_order order;                /* of the lines */
};

/* Returns the lines of rows grouped by `by`, largest first, in the arena.  The first *live lines
 * hold bytes; rows without bytes follow and are not grouped. */
struct mpr_line *mpr_naming_lines(struct mpr_arena *arena, const struct mpr_naming *naming,
                                  enum mpr_group by, const struct mpr_row *row, size_t rows,
                                  size_t *lines, size_t *live);
/* The steps of mpr_naming_lines, for callers with other amounts than a row's.  Returns the line of
 * one row with its path shortened. */
struct mpr_line mpr_naming_line(struct mpr_arena *arena, const struct mpr_naming *naming,
                                enum mpr_group by, const struct mpr_row *row);
/* Returns one line for all rows of one text, with links to those rows; largest first, in the
 * arena. */
struct mpr_line *mpr_naming_merge(struct mpr_arena *arena, const struct mpr_naming *naming,
                                  enum mpr_group by, const struct mpr_row *row, size_t rows,
                                  size_t *lines);
/* Groups lines of different texts in place, and returns how many are left. */
size_t mpr_naming_group(struct mpr_arena *arena, const struct mpr_naming *naming, enum mpr_group by,
                        struct mpr_line *line, size_t lines);
/* Groups lines of one of two sides with those of the other one (numbered_names.h) in place, and
 * returns how many are left. */
size_t mpr_naming_group_sides(struct mpr_arena *arena, const struct mpr_naming *naming,
                              enum mpr_group by, struct mpr_line *line, size_t lines, size_t older);

#endif
