/* The criteria by which blocks are grouped: in the rows of a report, the cells of a replay and the
 * bands of the page. */
#ifndef MPR_GROUP_H
#define MPR_GROUP_H

#include <stdbool.h>

/* X(NAME, "name", "text before it in --help", "text after it"), in the order of the messages.
 * LIBRARY, STACK and PYTHON need the call stack of a block.  COMM and GRAPH (the capture in which
 * memory was allocated) apply to device memory. */
// clang-format off
#define MPR_GROUPS(X)                                                              \
    X(RANGE,   "range",   ", ", "")                                                \
    X(STACK,   "stack",   ", ", "")                                                \
    X(PYTHON,  "python",  ", ", "")                                                \
    X(LIBRARY, "library", ", ", "")                                                \
    X(THREAD,  "thread",  ", ", "")                                                \
    X(SIZE,    "size",    ", ", "")                                                \
    X(HEAP,    "heap",    ", ", "")                                                \
    X(COMM,    "comm",    " or, for device memory, ", " (NCCL's communicators)")   \
    X(GRAPH,   "graph",   " or ", " (captures of CUDA graphs)")

enum mpr_group {
#define X(name, ...) MPR_GROUP_##name,
    MPR_GROUPS(X)
#undef X
    MPR_GROUP_AUTO,             /* the best that a process has */
    MPR_GROUP_ALL,              /* range, thread, size class and site at once: the page groups by any of them */
    MPR_GROUP_PLACE,            /* range and site at once, for a projection to any of AUTO, RANGE, STACK, PYTHON and LIBRARY */
};
// clang-format on

extern const char *const mpr_group_name[]; /* "range", ..., "auto", NULL */
/* Returns the word for a heading, which is "range" for AUTO. */
const char *mpr_group_word(enum mpr_group group);
/* Returns the text for rows of this group whose path is empty: "outside any range". */
const char *mpr_group_empty_path(enum mpr_group group);
/* Returns true if the paths of rows in this group are call stacks. */
bool mpr_group_is_calls(enum mpr_group group);

#endif
