/* Names the processes that share a GPU.  A log only measures the memory of other processes; their
 * own logs list it. */
#ifndef MPR_SHARING_H
#define MPR_SHARING_H

#include "device.h"
#include "peaks.h"
#include "processes.h"
#include "progress.h"
#include "summary.h"

/* The account of a GPU that another reading filled, and when it was true. */
struct mpr_shared_account {
    struct mpr_device_state *state;
    const char *uuid;              /* of the GPU */
    const struct mpr_summary *own; /* the process of the account */
};

/* Returns true if processes other than the account's own can have memory of the GPU.  The driver
 * itself has less. */
bool mpr_sharing_is_possible(const struct mpr_device_state *state);
/* Reads each of the other processes' logs up to the instants of the accounts, if the process ran
 * then.  Adds its share to each account of a GPU that it used: the part for recorded processes
 * takes these bytes from those of other processes, and the rest from those that are unknown.
 * @all: outlives the accounts */
void mpr_sharing_add(struct mpr_arena *arena, const struct mpr_shared_account *account,
                     size_t accounts, const struct mpr_processes *all,
                     const struct mpr_progress *progress);
/* The same for the devices of these logs, and in the same readings for @more, or NULL.
 * @all: outlives the peaks. */
void mpr_sharing_of_peaks(struct mpr_peaks *peaks, const struct mpr_shared_account *more,
                          const struct mpr_processes *all, const struct mpr_progress *progress);

#endif
