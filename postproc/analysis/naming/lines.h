/* Lines that people see: all rows of one text are one line.  Bytes, blocks and allocations of
 * all lines sum to those of all rows. */
#ifndef MPR_LINES_H
#define MPR_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "row.h"

/* The rows of a line, in a ring. */
struct mpr_row_link {
    struct mpr_row_link *next;
    const struct mpr_row *row;
};

struct mpr_line {
    struct mpr_row row;        /* its path is that of the line */
    const char *caller;        /* of the innermost call of the path, or "" if it is not shown */
    size_t rows;               /* in the line */
    struct mpr_row_link *link; /* one of them; NULL if nobody needs them */
    uint64_t own_peaks; /* sum of the rows': no less than the line's own.  row.own_peak is no more
                           than that */
    uint64_t sibling_least, sibling_most; /* bytes of the lines that an outlier was compared with; 0
                                             and 0 if it is not one */
    int64_t *of_run; /* bytes in each of the compared runs, owned by the line; NULL if there are
                        none */
    size_t runs;
};

/* The line of one row. */
struct mpr_line mpr_line_of(const struct mpr_row *row);
/* Adds the bytes and blocks of the other line; the path stays. */
void mpr_line_add(struct mpr_line *line, const struct mpr_line *other);
/* Largest first; lines of equal size by text. */
void mpr_lines_sort(struct mpr_line *line, size_t lines, enum mpr_order order);
/* Merges lines of one text and returns how many are left. */
size_t mpr_lines_merge(struct mpr_line *line, size_t lines);

#endif
