/* Rows as the lines that people read: told by the telling frame, numbers folded, no two of one
 * text. */
#ifndef MPR_NAMING_H
#define MPR_NAMING_H

#include <stdbool.h>
#include <stddef.h>

#include "group.h"
#include "lines.h"
#include "telling.h"

struct mpr_naming {
    struct mpr_telling *telling; /* NULL: paths are shown whole */
    bool unfold;                 /* numbers do not fold */
    enum mpr_order order;        /* of the lines */
};

/* The lines of rows by `by`, largest first; in the arena.  Rows that hold nothing, where others do,
 * come last, as they are: *live lines are shown. */
struct mpr_line *mpr_naming_lines(struct mpr_arena *arena, const struct mpr_naming *naming,
                                  enum mpr_group by, const struct mpr_row *row, size_t rows,
                                  size_t *lines, size_t *live);
/* Its parts, for who has amounts of his own.  The line of one row, told. */
struct mpr_line mpr_naming_line(struct mpr_arena *arena, const struct mpr_naming *naming,
                                enum mpr_group by, const struct mpr_row *row);
/* The lines of rows, of which those of one text are one, and which know their rows; largest first,
 * in the arena. */
struct mpr_line *mpr_naming_merge(struct mpr_arena *arena, const struct mpr_naming *naming,
                                  enum mpr_group by, const struct mpr_row *row, size_t rows,
                                  size_t *lines);
/* Lines of different texts folded, in place: how many are left. */
size_t mpr_naming_fold(struct mpr_arena *arena, const struct mpr_naming *naming, enum mpr_group by,
                       struct mpr_line *line, size_t lines);
/* Lines of one of two sides folded with those of the other one (fold.h), in place: how many are
 * left. */
size_t mpr_naming_fold_sides(struct mpr_arena *arena, const struct mpr_naming *naming,
                             enum mpr_group by, struct mpr_line *line, size_t lines, size_t older);

#endif
