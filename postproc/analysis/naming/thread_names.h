/* Threads' names, as paths that fold: threads of a pool differ in a number. */
#ifndef MPR_THREAD_NAMES_H
#define MPR_THREAD_NAMES_H

#include <stddef.h>

#include "frame.h"

/* Bytes of a thread's name in its label, "worker 3 (4243)": without the kernel's number; 0: it has
 * none. */
size_t mpr_thread_bare(const char *label);

/* What folds: "worker 3", or "worker" and "12" of "worker12", which no range is called; of a name
 * without a number the thread, for each such thread is its own line. */
struct mpr_path mpr_thread_path(struct mpr_arena *arena, const struct mpr_frame *thread);

/* The path that has become of it, "worker {0..7} (8 threads)". */
struct mpr_path mpr_thread_folded(struct mpr_arena *arena, struct mpr_path path, size_t threads);

#endif
