/* Rows as people see them: each is a line of its own text, of any number of rows.  Bytes, blocks
 * and allocations of all lines sum to those of all rows. */
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
    const char *caller;        /* who called the innermost name of the path; "": not told */
    size_t rows;               /* that it stands for */
    struct mpr_row_link *link; /* one of them; NULL: nobody wants to know which */
    uint64_t own_peaks; /* sum of the rows': no less than the line's own.  row.own_peak is no more
                           than that */
    uint64_t sibling_least, sibling_most; /* bytes of the lines that it was told apart from, for it
                                             stands out; 0 and 0: none */
    int64_t *of_run; /* bytes in each of the runs that are compared, the line's own; NULL: none are
                      */
    size_t runs;
};

/* The line of one row. */
struct mpr_line mpr_line_of(const struct mpr_row *row);
/* Adds what the other one holds; the path stays. */
void mpr_line_add(struct mpr_line *line, const struct mpr_line *other);
/* Largest first; of equals by text. */
void mpr_lines_sort(struct mpr_line *line, size_t lines, enum mpr_order order);
/* Lines of one text become one.  Their number. */
size_t mpr_lines_merge(struct mpr_line *line, size_t lines);

#endif
