/* Finds the parent process of each log among several logs.  Private to this layer. */
#ifndef MPR_PROCESS_TREE_H
#define MPR_PROCESS_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "summary.h"

#define MPR_NO_PROCESS SIZE_MAX

/* Indices in the list of logs, or MPR_NO_PROCESS. */
struct mpr_process_tree {
    size_t parent; /* the process of the same run that started it: the log that this log names as
                      its parent's; otherwise the newest earlier log of a process with the parent's
                      number on that host */
    size_t tree_parent; /* the same; if the parent left no log, the process that the user started on
                     that host, if there is exactly one */
    size_t previous_program; /* the log of the program that executed this program in the same
                                process */
};

/* Orders logs by the start of their process, so that a parent precedes its children. */
int mpr_process_tree_order(const struct mpr_summary *a, const struct mpr_summary *b);
/* Fills tree[i] for log[i], in any order. Logs with false information cannot cause a cycle. */
void mpr_process_tree_find(const struct mpr_summary *const *log, size_t logs,
                           struct mpr_process_tree *tree);

#endif
