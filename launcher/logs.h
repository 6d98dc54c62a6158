/* The directory with the logs of one process tree. */
#ifndef MPL_LOGS_H
#define MPL_LOGS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "recover.h"

struct mpl_log {
    char name[NAME_MAX + 1];
    uint64_t bytes;
    struct mpr_ending ending;
};

struct mpl_logs {
    char path[PATH_MAX]; /* absolute */
    int dir;         /* the directory; logs are read and completed here, even if the path changes */
    bool made;       /* created by mpl_logs_open */
    const char *run; /* its ID; logs of other runs in the directory are not changed */
    struct timespec since; /* logs whose last write was earlier belong to an earlier run */
    struct mpl_log *log;   /* of processes that have ended, by name */
    size_t count;
    /* Number of additional logs of processes that still run. A process that stays small removes its
     * log when it ends. */
    unsigned running;
    unsigned recovered, lossy;
    unsigned cut;             /* number of logs without an end and without a journal */
    unsigned unmerged;        /* number of logs that could not be merged with their journals */
    struct mpr_error failure; /* the reason for the first of them */
    unsigned long long lost;  /* number of events that are missing in incomplete logs */
};

/* Creates the directory, or accepts an existing one that contains only logs, belongs to this user,
 * and in which no other user may create files. Without @directory the name is memprof.PROGRAM.PID;
 * then an existing directory is not used, and NAME.2, NAME.3, ... are tried. Returns 0, or -1 with
 * one line in reason. */
int mpl_logs_open(struct mpl_logs *logs, const char *directory, const char *program, pid_t pid,
                  char *reason, size_t cap);
/* The template of logs in the directory for MEMPROF_OUT: malloc'ed, or NULL without memory. */
char *mpl_logs_template(const struct mpl_logs *logs);
/* Finds the run's logs and reads their ends. @fold: merges the journals of ended processes into
 * them first. */
void mpl_logs_survey(struct mpl_logs *logs, bool merge);
/* Releases everything. Removes the directory again if this run created it and no process left a
 * log. */
void mpl_logs_close(struct mpl_logs *logs);

#endif
