/* Rows of tables, and the lines that people see: all rows of one text are one line.  Bytes, blocks
 * and allocations of all lines sum to those of all rows. */
#ifndef MPR_ROW_H
#define MPR_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "frame.h"
#include "group.h"
#include "variance.h"

/* The grouping chosen for AUTO.  source: in words, "NVTX", "native call stacks", ... */
struct mpr_choice {
    enum mpr_group by;
    const char *source;
    enum mpr_group calls; /* the next finer grouping by call stacks, or a group without calls */
};

/* One line of a table: a range path, a call stack, a thread, a size class, ... */
struct mpr_row {
    struct mpr_path path;
    uint64_t bytes, blocks; /* at the peak */
    uint64_t own_peak, allocations;
    uint64_t end_bytes; /* when the log ends */
    uint64_t all_bytes; /* the sum of its blocks, including freed ones; UINT64_MAX if unknown, 0
                           without mpr_peaks_options.all_bytes */
    uint64_t live_bytes, live_blocks; /* when a growing row's growth ends (leaks.h), or 0 for other
                                         rows */
    bool estimated;                   /* from sampled blocks, or counted now and then */
    bool at_least;                    /* a lower bound: the sampled blocks alone */
    bool counted;                     /* the blocks that the recording only counted (counted.h) */
    uint32_t cell;                    /* index in the accounts, while the replay exists */
    struct mpr_variance variance;     /* of an estimate */
    uint64_t inherited; /* bytes that belong to another thread's range, which the thread inherited
                           (device heaps only) */
};

/* The amounts by which rows can be ranked.  X(NAME, "name", member) */
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
/* Largest first; equal ones by bytes, then by their own peaks. */
int mpr_row_by(const struct mpr_row *a, const struct mpr_row *b, enum mpr_order order);
/* Sorts rows with qsort, the one with most bytes first. */
int mpr_row_by_bytes(const void *left, const void *right);
/* Order of rows by their paths. */
int mpr_row_by_path(const struct mpr_row *a, const struct mpr_row *b);

/* ---- lines */

/* The rows of a line, in a ring. */
struct mpr_row_link {
    struct mpr_row_link *next;
    const struct mpr_row *row;
};

struct mpr_line {
    struct mpr_row row;        /* its path is that of the line */
    struct mpr_path one;       /* the path of one of several whose numbers were grouped, or empty */
    const char *caller;        /* the caller of the innermost call, or "" if it is not shown */
    size_t rows;               /* in the line */
    struct mpr_row_link *link; /* one of them, or NULL if they are not needed */
    uint64_t own_peaks;        /* sum of the rows' own peaks, an upper bound of the line's own peak;
                                  row.own_peak is a lower bound */
    uint64_t sibling_least, sibling_most; /* bytes of the lines that an outlier was compared with,
                                             or 0 */
    int64_t *of_run; /* bytes in each compared run, owned by the line, or NULL */
    size_t runs;
};

/* Returns the line of one row. */
struct mpr_line mpr_line_of(const struct mpr_row *row);
/* Adds the bytes and blocks of the other line; the path stays. */
void mpr_line_add(struct mpr_line *line, const struct mpr_line *other);
/* Sorts lines, largest first; lines of equal size by text. */
void mpr_lines_sort(struct mpr_line *line, size_t lines, enum mpr_order order);
/* Merges lines of one text and returns how many are left. */
size_t mpr_lines_merge(struct mpr_line *line, size_t lines);

#endif
