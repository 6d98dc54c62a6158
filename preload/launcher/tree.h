/* The process tree of a run while it runs: watched, and written down. */
#ifndef MP_TREE_H
#define MP_TREE_H

#include "record.h"
#include "watch.h"

struct mp_tree { struct mp_watch watch; struct mp_record record; };

/* library: the file's name that is preloaded; directory: of the logs, or -1. */
void mp_tree_open(struct mp_tree *t, const char *library, int directory);
void mp_tree_begin(struct mp_tree *t, pid_t child);
/* Waits for a signal of the signalfd, or for something to do. */
void mp_tree_wait(struct mp_tree *t, int signals);
/* The command has ended; what is left of its tree goes on unwatched. */
void mp_tree_end(struct mp_tree *t, pid_t child, int wait_status);
/* keep: the record stays. */
void mp_tree_close(struct mp_tree *t, bool keep);

/* Whom the kernel killed for memory: "python3 (pid 12)", ...; "" where that is not known. */
void mp_tree_killed(const struct mp_tree *t, char *out, size_t cap);
/* How many were seen to run without memprof, and which and why. */
size_t mp_tree_unseen(const struct mp_tree *t, char *out, size_t cap);

#endif
