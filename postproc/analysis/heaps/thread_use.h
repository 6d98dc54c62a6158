/* Peaks by thread, with each thread's lifetime and the sum of its allocations: the result of
 * `memprof-report peaks --by thread` on one log.
 *
 * Everything in it lives until mpr_thread_use_free.  Times are ns since the process's start. */
#ifndef MPR_THREAD_USE_H
#define MPR_THREAD_USE_H

#include "info.h"
#include "peaks.h"

/* One thread in one heap. */
struct mpr_thread_row {
    struct mpr_info_thread life;
    uint64_t end_blocks;
};

struct mpr_thread_use {
    struct mpr_peaks peaks;         /* one log, by thread */
    struct mpr_thread_row **of;     /* for each heap of that log, and each of the heap's rows */
    struct mpr_info_thread *thread; /* all threads of the log, by number */
    size_t threads;
};

/* Reads one log.  @options: as for mpr_peaks_init, by thread.  Returns 0, or -1 with *error filled
 * and nothing to free. */
int mpr_thread_use_read(struct mpr_thread_use *out, const char *path,
                        const struct mpr_peaks_options *options,
                        const struct mpr_progress *progress, struct mpr_error *error);
void mpr_thread_use_free(struct mpr_thread_use *out);

#endif
