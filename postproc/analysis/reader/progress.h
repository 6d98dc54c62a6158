/* How far the reading of logs is. */
#ifndef MPR_PROGRESS_H
#define MPR_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* @tick: called after each batch of events, with the position in the file and its length in bytes;
 * or NULL. */
struct mpr_progress {
    void (*tick)(void *arg, const char *path, uint64_t done, uint64_t total);
    void *arg;
};

/* Counts of the readings of this process so far. */
struct mpr_readings {
    uint64_t readings; /* each begins at the start of a log */
    uint64_t events;   /* in all of them */
    uint64_t longest;  /* events of the longest one */
    bool one_log;      /* all of them were of the same log */
};
struct mpr_readings mpr_readings_so_far(void);

#endif
