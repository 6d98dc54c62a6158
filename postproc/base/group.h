/* What blocks are told apart by: a report's rows, replay's cells, a page's bands. */
#ifndef MPR_GROUP_H
#define MPR_GROUP_H

#include <stdbool.h>

/* X(NAME, "name", "before it in --help", "behind it"), in the order in which messages have them.
 * LIBRARY, STACK and PYTHON are known where the log has the block's call stack; COMM and GRAPH (the
 * capture that memory was taken in) of device memory. */
// clang-format off
#define MPR_GROUPS(X)                                                              \
    X(RANGE,   "range",   ", ", "")                                                \
    X(STACK,   "stack",   ", ", "")                                                \
    X(PYTHON,  "python",  ", ", "")                                                \
    X(LIBRARY, "library", ", ", "")                                                \
    X(THREAD,  "thread",  ", ", "")                                                \
    X(SIZE,    "size",    ", ", "")                                                \
    X(HEAP,    "heap",    ", ", "")                                                \
    X(COMM,    "comm",    " or, of device memory, ", " (NCCL's communicators)")    \
    X(GRAPH,   "graph",   " or ", " (CUDA graphs' captures)")

enum mpr_group {
#define X(name, ...) MPR_GROUP_##name,
    MPR_GROUPS(X)
#undef X
    MPR_GROUP_AUTO,             /* the best that a process has */
    MPR_GROUP_ALL,              /* range, thread, size class and site at once: a page stacks by any of them */
};
// clang-format on

extern const char *const mpr_group_name[]; /* "range", ..., "auto"; NULL ends it */
/* The word for a heading: what AUTO has told apart are ranges, or stand for them. */
const char *mpr_group_word(enum mpr_group group);
/* What an empty path of such rows is called: "outside any range". */
const char *mpr_group_nowhere(enum mpr_group group);
/* All names of its paths are calls. */
bool mpr_group_is_calls(enum mpr_group group);

#endif
