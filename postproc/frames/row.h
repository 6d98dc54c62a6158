/* Rows of tables, and the lines that people see: a line has all rows of the same text.  The sums of
 * bytes, blocks and allocations are the same for all lines as for all rows. */
#ifndef MPR_ROW_H
#define MPR_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "frame.h"
#include "group.h"
#include "variance.h"

/* The grouping that is used for AUTO. */
struct mpr_choice {
    enum mpr_group by;
    const char *source;   /* in words: "NVTX", "native call stacks", ... */
    enum mpr_group calls; /* the next finer grouping by call stacks, or a group without calls */
};

/* A row of a table: a path of ranges, a call stack, a thread, a size class, ... */
struct mpr_row {
    struct mpr_path path;
    uint64_t bytes, blocks; /* at the peak */
    uint64_t own_peak, allocations;
    uint64_t end_bytes; /* when the log ends */
    uint64_t all_bytes; /* of all its blocks, also freed ones; UINT64_MAX if unknown, 0 without
                           mpr_peaks_options.all_bytes */
    uint64_t live_bytes, live_blocks; /* of a row that grows, when it stops growing (leaks.h), or
                                         0 */
    bool estimated;                   /* from sampled blocks, or counted now and then */
    bool at_least;                    /* a lower bound: only the sampled blocks */
    bool counted;                     /* the blocks that the recording only counted (counted.h) */
    uint32_t cell;                    /* number of the cell in the accounts, during the replay */
    struct mpr_variance variance;     /* of an estimate */
    uint64_t inherited; /* bytes in a range that the thread inherited from another thread (device
                           heaps only) */
};

/* The amounts by which rows can be sorted.  X(NAME, "name", member) */
#define MPR_ORDERS(X)                                                                              \
    X(BYTES, "bytes", bytes)                                                                       \
    X(BLOCKS, "blocks", blocks)                                                                    \
    X(ALLOCS, "allocs", allocations)                                                               \
    X(END, "end", end_bytes)                                                                       \
    X(OWN, "own", own_peak)
enum mpr_order {
#define X(name, ...) MPR_ORDER_##name,
    MPR_ORDERS(X)
#undef X
        MPR_ORDERS_COUNT
};
uint64_t mpr_row_amount(const struct mpr_row *row, enum mpr_order order);
/* Compares rows by this amount, then by bytes and by their own peaks, the largest first. */
int mpr_row_by(const struct mpr_row *a, const struct mpr_row *b, enum mpr_order order);
/* Compares rows by their bytes for qsort, the largest first. */
int mpr_row_by_bytes(const void *left, const void *right);
/* Compares the paths of rows. */
int mpr_row_by_path(const struct mpr_row *a, const struct mpr_row *b);

/* ---- lines */

/* The rows of a line, in a ring. */
struct mpr_row_link {
    struct mpr_row_link *next;
    const struct mpr_row *row;
};

struct mpr_line {
    struct mpr_row row;        /* the path and the sums of the line */
    struct mpr_path one;       /* if lines were grouped, the path of one of them; or empty */
    const char *caller;        /* the caller of the innermost call, or "" if it is not shown */
    size_t rows;               /* in the line */
    struct mpr_row_link *link; /* one of them, or NULL if they are not needed */
    uint64_t own_peaks;        /* sum of the rows' own peaks, an upper bound of the line's own peak;
                                  row.own_peak is a lower bound */
    uint64_t sibling_least, sibling_most; /* bytes of the lines with which an outlier was compared,
                                             or 0 */
    int64_t *of_run;                      /* bytes in each of the runs that are compared, or NULL */
    size_t runs;
};

/* Returns the line of one row. */
struct mpr_line mpr_line_of(const struct mpr_row *row);
/* Adds the rows and amounts of the other line.  The path of the line stays. */
void mpr_line_add(struct mpr_line *line, const struct mpr_line *other);
/* Sorts lines, largest first; equally large ones by text. */
void mpr_lines_sort(struct mpr_line *line, size_t lines, enum mpr_order order);
/* Merges lines of the same text and returns how many are left. */
size_t mpr_lines_merge(struct mpr_line *line, size_t lines);

#endif
