#include "job.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"

enum { MANY = 8 }; /* digests take long to make */

void mpr_job_read(struct mpr_job *job, const char *log, const struct mpr_processes *all,
                  const struct mpr_output *output)
{
    const struct mpr_process_run *run = mpr_processes_run_of(all, log);
    const char **path = mpr_alloc(all->count, sizeof *path);
    size_t paths = 0;
    bool is_rank = false;
    for (size_t i = 0; run && i < all->count; i++) {
        if (!*all->at[i].summary.process.rank || !mpr_process_is_in(&all->at[i], run)) continue;
        path[paths++] = all->at[i].summary.path;
        is_rank |= strcmp(all->at[i].summary.path, log) == 0;
    }
    if (paths > 1 && is_rank) {
        mpr_digests_add(&job->digests, path, paths, output);
        mpr_digests_say_made(&job->digests, MANY);
        mpr_ranks_make(&job->ranks, job->digests.at, job->digests.count);
        job->exists = job->ranks.ranks > 1;
    }
    free(path);
}

void mpr_job_free(struct mpr_job *job)
{
    mpr_ranks_free(&job->ranks);
    mpr_digests_free(&job->digests);
}
