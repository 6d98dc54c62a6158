/* The progress of reading logs. */
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
    uint64_t readings; /* how often a log was read from its start */
    uint64_t events;   /* read in all of them */
    uint64_t longest;  /* events of the longest reading */
    bool one_log;      /* all were of the same log */
};
struct mpr_readings mpr_readings_so_far(void);

#endif
