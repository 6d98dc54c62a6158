/* Rows of tables, and their grouping. */
#ifndef MPR_ROW_H
#define MPR_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame.h"
#include "group.h"

/* The grouping chosen for AUTO.  source: in words, "NVTX", "native call stacks", ... */
struct mpr_choice {
    enum mpr_group by;
    const char *source;
    enum mpr_group calls; /* the next finer grouping by call stacks; a group without calls if there
                             is none */
};

/* One line of a table: a range path, a call stack, a thread, a size class, ... */
struct mpr_row {
    struct mpr_path path;
    uint64_t bytes, blocks; /* at the peak */
    uint64_t own_peak, allocations;
    uint64_t end_bytes;               /* when the log ends */
    uint64_t live_bytes, live_blocks; /* for a growing row (leaks.h) at the end of its growth,
 when bytes and blocks are the growth; else 0 */
    bool estimated;                   /* from sampled blocks, or counted now and then */
    bool at_least;                    /* there may be more: sampled blocks as they are */
    double variance;                  /* of bytes, squared: of what is estimated from samples */
    uint64_t inherited; /* of bytes: by inheritance from another thread's range (device heaps only)
                         */
};

/* One standard error of such bytes; 0: they are exact. */
uint64_t mpr_row_error(double variance);

/* By which of its amounts rows are ranked.  X(NAME, "name", member) */
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
extern const char *const mpr_order_name[MPR_ORDERS_COUNT];
uint64_t mpr_row_amount(const struct mpr_row *row, enum mpr_order order);
/* Largest first; equal ones by bytes, then by their own peaks. */
int mpr_row_by(const struct mpr_row *a, const struct mpr_row *b, enum mpr_order order);
/* Order of rows by their paths. */
int mpr_row_by_path(const struct mpr_row *a, const struct mpr_row *b);

#endif
