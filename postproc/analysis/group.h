/* What a report tells blocks apart by, and a line of it. */
#ifndef MPR_GROUP_H
#define MPR_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* COMM and GRAPH (the capture that memory was taken in) tell device memory apart; AUTO is the best that a process has; ALL is range, thread, size class and site at once, so
 * that a page can stack by any of them. */
enum mpr_group {
    MPR_GROUP_RANGE, MPR_GROUP_THREAD, MPR_GROUP_SIZE, MPR_GROUP_HEAP, MPR_GROUP_LIBRARY, MPR_GROUP_COMM, MPR_GROUP_PYTHON,
    MPR_GROUP_STACK, MPR_GROUP_GRAPH, MPR_GROUP_AUTO, MPR_GROUP_ALL
};
extern const char *const mpr_group_name[];     /* "range", ..., "auto"; NULL ends it */
/* The word for a heading: what AUTO has told apart are ranges, or stand for them. */
const char *mpr_group_word(enum mpr_group group);

/* What was taken for AUTO, in words: "NVTX", "native call stacks", ... */
struct mpr_choice { enum mpr_group by; const char *source; };

/* One line of a table: a range path, a call stack, a thread, a size class, ... */
struct mpr_row {
    const char *const *path;    /* outermost first */
    size_t depth;               /* 0: outside any range */
    uint64_t bytes, blocks;     /* at the peak */
    uint64_t own_peak, allocations;
    bool estimated;             /* from sampled blocks */
    uint64_t inherited;         /* of bytes: by inheritance from another thread's range (device heaps only) */
};

#endif
