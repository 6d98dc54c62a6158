/* Lines of tables, and what they are by. */
#ifndef MPR_ROW_H
#define MPR_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "group.h"

/* What was taken for AUTO, in words: "NVTX", "native call stacks", ... */
struct mpr_choice {
    enum mpr_group by;
    const char *source;
};

/* One line of a table: a range path, a call stack, a thread, a size class, ... */
struct mpr_row {
    const char *const *path; /* outermost first */
    size_t depth;            /* 0: outside any range */
    uint64_t bytes, blocks;  /* at the peak */
    uint64_t own_peak, allocations;
    bool estimated;     /* from sampled blocks */
    uint64_t inherited; /* of bytes: by inheritance from another thread's range (device heaps only)
                         */
};

#endif
