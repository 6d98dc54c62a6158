/* Watches the process tree of a run and writes its record. */
#ifndef MPL_TREE_H
#define MPL_TREE_H

#include "record.h"
#include "watch.h"

struct mpl_tree {
    struct mpl_watch watch;
    struct mpl_record record;
};

/* @library: file name of the preloaded library. @directory: of the logs, or -1. @run: the run's
 * ID. */
void mpl_tree_open(struct mpl_tree *t, const char *library, int directory, const char *run);
void mpl_tree_begin(struct mpl_tree *t, pid_t child);
/* Waits for a signal of the signalfd, or for an event to handle. */
void mpl_tree_wait(struct mpl_tree *t, int signals);
/* Called when the command has ended; its remaining processes are not watched any more. */
void mpl_tree_end(struct mpl_tree *t, pid_t child, int wait_status);
/* @keep: the record is kept. */
void mpl_tree_close(struct mpl_tree *t, bool keep);

/* Writes the processes that the kernel killed for memory: "python3 (pid 12)", ..., or "" if they
 * are unknown. */
void mpl_tree_killed(const struct mpl_tree *t, char *out, size_t cap);
/* Writes which processes ran without memprof, and why. Returns their number. */
size_t mpl_tree_unseen(const struct mpl_tree *t, char *out, size_t cap);

#endif
