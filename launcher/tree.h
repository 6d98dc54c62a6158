/* The process tree of a run while it runs: watched, and written down. */
#ifndef MPL_TREE_H
#define MPL_TREE_H

#include "record.h"
#include "watch.h"

struct mpl_tree {
    struct mpl_watch watch;
    struct mpl_record record;
};

/* library: the file's name that is preloaded; directory: of the logs, or -1; run: the run's id. */
void mpl_tree_open(struct mpl_tree *t, const char *library, int directory, const char *run);
void mpl_tree_begin(struct mpl_tree *t, pid_t child);
/* Waits for a signal of the signalfd, or for something to do. */
void mpl_tree_wait(struct mpl_tree *t, int signals);
/* Called when the command has ended; its remaining processes are not watched any more. */
void mpl_tree_end(struct mpl_tree *t, pid_t child, int wait_status);
/* keep: the record stays. */
void mpl_tree_close(struct mpl_tree *t, bool keep);

/* Whom the kernel killed for memory: "python3 (pid 12)", ...; "" where that is not known. */
void mpl_tree_killed(const struct mpl_tree *t, char *out, size_t cap);
/* How many were seen to run without memprof, and which and why. */
size_t mpl_tree_unseen(const struct mpl_tree *t, char *out, size_t cap);

#endif
