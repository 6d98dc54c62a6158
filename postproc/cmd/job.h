/* The job of a rank: all ranks of its run, compared. */
#ifndef MPR_JOB_H
#define MPR_JOB_H

#include <stdbool.h>

#include "cmd.h"
#include "processes.h"
#include "ranks.h"

/* All zeros at first. */
struct mpr_job {
    struct mpr_digests digests;
    struct mpr_ranks ranks;
    bool exists;
};

/* Compares the ranks of the log's run.  The job does not exist if the log is not that of one of
 * several ranks.
 * @all: the processes that the ranks are found among */
void mpr_job_read(struct mpr_job *job, const char *path, const struct mpr_processes *all,
                  const struct mpr_output *output);
void mpr_job_free(struct mpr_job *job);

#endif
