/* Reads memprof.run, in which the launcher records how processes ended (FORMAT.md), from the
 * directory of a log.  An end belongs to a log of the same run, host and process number that began
 * while that process was running. */
#ifndef MPR_RUN_H
#define MPR_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "header.h"

enum mpr_run_how { MPR_RUN_UNKNOWN, MPR_RUN_EXIT, MPR_RUN_SIGNAL };
/* The evidence of an OOM kill: the cgroup of the process counted a kill at that time; the kernel's
 * log names the process. */
enum mpr_run_oom { MPR_RUN_NO_OOM, MPR_RUN_OOM_CGROUP, MPR_RUN_OOM_KERNEL };

struct mpr_run_end {
    bool known; /* it was found in the record */
    enum mpr_run_how how;
    enum mpr_run_oom oom;
    int status;          /* the exit status, or the signal */
    uint64_t mono, real; /* CLOCK_MONOTONIC and CLOCK_REALTIME ns */
    uint64_t rss;        /* maximum of resident bytes that was seen, or 0 */
};

/* Finds the end of the header's process in the folder of its log. */
struct mpr_run_end mpr_run_find(const char *log_path, const struct mpr_header *header);

/* A process with a log. */
struct mpr_run_process {
    const char *host;
    uint64_t pid, start; /* CLOCK_REALTIME ns */
};

/* The processes of a run that ended without a log. */
struct mpr_run_without_log {
    uint64_t processes, unseen; /* unseen: they ran without memprof */
    uint64_t rss, largest;      /* their maximum resident bytes: the sum, and the largest */
};

/* Counts the processes of a run without a log.  Sorts @known.
 * @run: the run's id.  If its logs have none, "": then only launchers with at least one log count
 * @known: the run's processes with a log */
struct mpr_run_without_log mpr_run_without_log(const char *log_path, const char *run,
                                               struct mpr_run_process *known, size_t count);

#endif
