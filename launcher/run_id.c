/* The ID of a job must be the same for all of its launchers, on all nodes, and must not outlive the
 * job. So variables of a batch job or of an interactive allocation are not used, because several
 * runs may follow each other in it. */
#include "run_id.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "proc.h"

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

/* A job step with several tasks, each of which may be a launcher. A step with one task may be an
 * interactive shell. */
static bool of_slurm(char out[MPF_RUN_ID])
{
    const char *job = variable("SLURM_JOB_ID"), *step = variable("SLURM_STEP_ID"),
               *tasks = variable("SLURM_STEP_NUM_TASKS"), *again = variable("SLURM_RESTART_COUNT");
    if (!job || !step || !tasks || strtoul(tasks, NULL, 10) < 2) return false;
    snprintf(out, MPF_RUN_ID, "slurm.%s.%s%s%s", job, step, again ? ".restart" : "",
             again ? again : "");
    return true;
}

/* A variable in which the program that starts the tasks stores the job's ID. */
static bool of_variable(char out[MPF_RUN_ID])
{
    static const struct {
        const char *name, *prefix;
    } known[] = { { "PMIX_NAMESPACE", "pmix" },
                  { "OMPI_MCA_ess_base_jobid", "ompi" },
                  { "PALS_APID", "pals" },
                  { "FLUX_JOB_ID", "flux" } };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const char *value = variable(known[i].name);
        if (!value) continue;
        snprintf(out, MPF_RUN_ID, "%s.%s", known[i].prefix, value);
        return true;
    }
    return false;
}

/* torchrun has an ID if the user gave one, or --standalone. */
static bool of_torchrun(char out[MPF_RUN_ID])
{
    const char *id = variable("TORCHELASTIC_RUN_ID");
    if (!id || strcmp(id, "none") == 0) return false;
    snprintf(out, MPF_RUN_ID, "torchrun.%s", id);
    return true;
}

/* torchrun without an ID, and Hydra (MPICH, Intel MPI): the process that starts all ranks of this
 * node is the launcher's parent. */
static bool of_parent(char out[MPF_RUN_ID])
{
    struct mpl_proc_stat parent;
    char host[64] = "";
    if (!variable("TORCHELASTIC_RUN_ID") && !variable("PMI_RANK")) return false;
    if (!mpl_proc_stat(getppid(), &parent)) return false;
    gethostname(host, sizeof host - 1);
    snprintf(out, MPF_RUN_ID, "parent.%s.%ld.%" PRIu64, host, (long)getppid(), parent.started);
    return true;
}

static void random_id(char out[MPF_RUN_ID])
{
    uint64_t number;
    if (getrandom(&number, sizeof number, GRND_NONBLOCK) != (ssize_t)sizeof number) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        number = (uint64_t)now.tv_sec << 32 ^ (uint64_t)now.tv_nsec << 16 ^ (uint64_t)getpid();
    }
    snprintf(out, MPF_RUN_ID, "%016" PRIx64, number);
}

/* Replaces characters that have a meaning in the lines of memprof.run. */
static void make_plain(char *id)
{
    for (; *id; id++)
        if ((unsigned char)*id <= ' ' || *id == '%' || *id == 0x7f) *id = '_';
}

void mpl_run_id(char out[MPF_RUN_ID], const char *given)
{
    if (!given) given = variable("MEMPROF_RUN");
    if (given && *given) snprintf(out, MPF_RUN_ID, "%s", given);
    else if (!of_variable(out) && !of_slurm(out) && !of_torchrun(out) && !of_parent(out))
        random_id(out);
    make_plain(out);
}
