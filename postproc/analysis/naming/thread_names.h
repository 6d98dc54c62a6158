/* Threads' names, as paths that fold: threads of a pool differ in a number. */
#ifndef MPR_THREAD_NAMES_H
#define MPR_THREAD_NAMES_H

#include <stddef.h>

#include "arena.h"

/* Bytes of a thread's name in its label, "worker 3 (4243)": without the kernel's number; 0: it has
 * none. */
size_t mpr_thread_bare(const char *label);

/* What folds: "worker 3", or "worker" and "12" of "worker12", which no range is called; of a name
 * without a number the label, for each such thread is its own line. */
const char *const *mpr_thread_path(struct mpr_arena *arena, const char *label, size_t *depth);

/* What has become of it, "worker {0..7} (8 threads)". */
const char *mpr_thread_folded(struct mpr_arena *arena, const char *const *path, size_t depth,
                              size_t threads);

#endif
