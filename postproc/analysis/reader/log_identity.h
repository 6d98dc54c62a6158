/* Identifies the process that wrote a log, so that a command that reports on one log can pick it
 * from a directory. */
#ifndef MPR_WHO_H
#define MPR_WHO_H

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "progress.h"
#include "summary.h"

struct mpr_error;

/* Reads the process from the log's header.  Strings are allocated in the arena.  Returns 0, or -1
 * with *error filled. */
int mpr_log_identity_read(struct mpr_process_info *who, struct mpr_arena *arena, const char *path,
                          struct mpr_error *error);

#define MPR_NEVER UINT64_MAX
enum { MPR_LOG_HEAPS = 256 };

/* Facts about a process that require a replay of its whole log. */
struct mpr_log_outcome {
    uint64_t peak;   /* bytes, of the largest heap */
    bool lacks;      /* the requested heap does not occur in this log */
    uint64_t failed; /* CLOCK_REALTIME, ns: the first fatal out-of-memory event (device memory
                        refused, or killed for host memory), or MPR_NEVER */
};

/* Reads the whole log.  @heap: the requested heap, or MPF_HEAP_NONE.  Returns 0, or -1 with *error
 * filled. */
int mpr_log_outcome_read(struct mpr_log_outcome *end, const char *path, uint8_t heap,
                         const struct mpr_progress *progress, struct mpr_error *error);
/* Returns true if the left log should be reported instead of the right one: first come
 * logs with the requested heap, then those that failed earlier, then those with larger peaks. */
bool mpr_log_outcome_precedes(const struct mpr_log_outcome *left,
                              const struct mpr_log_outcome *right);

/* The heaps of logs, by number (mpf/event.h). */
struct mpr_log_heaps {
    bool there[MPR_LOG_HEAPS];
};
/* Reads a log up to the first block of the heap.  Returns 1 if it has the heap, 0 if it does not,
 * with its heaps added to *heaps, or -1 with *error filled. */
int mpr_log_has_heap(const char *path, uint8_t heap, struct mpr_log_heaps *heaps,
                     const struct mpr_progress *progress, struct mpr_error *error);

#endif
