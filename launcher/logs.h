/* The directory that holds the logs of one process tree. */
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
    int dir; /* the directory; logs are read and completed in this one, even if the path changes */
    bool made;             /* by mpl_logs_open */
    const char *run;       /* its id: logs of other runs in the directory are left alone */
    struct timespec since; /* logs that were written last before belong to an earlier run */
    struct mpl_log *log;   /* of processes that have ended, by name */
    size_t count;
    /* More, of processes that still run: one that stays small takes its log away when it ends. */
    unsigned running;
    unsigned recovered, lossy;
    unsigned cut;             /* logs that have no end, and no journal was found */
    unsigned unmerged;        /* logs that could not be merged with their journals */
    struct mpr_error failure; /* the reason of the first of them */
    unsigned long long lost;  /* events that are missing in the lossy ones */
};

/* Creates the directory, or accepts an existing one that contains only logs, belongs to this user,
 * and in which no other user may create files. @usual: the name is the default, so an existing
 * directory is not used, and NAME.2, NAME.3, ... are tried. Returns 0, or -1 with one line in
 * reason. */
int mpl_logs_open(struct mpl_logs *logs, const char *directory, bool usual, char *reason,
                  size_t cap);
/* The template of logs in the directory for MEMPROF_OUT: malloc'ed, or NULL without memory. */
char *mpl_logs_template(const struct mpl_logs *logs);
/* Finds the run's logs; fold: first folds the journals of dead processes into them, and reads what
 * their ends tell. */
void mpl_logs_survey(struct mpl_logs *logs, bool fold);
/* Releases all; removes the directory again if this run made it and no process left a log. */
void mpl_logs_close(struct mpl_logs *logs);

#endif
