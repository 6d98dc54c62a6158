/* The logs that a subcommand is given: files and directories, --pid, --rank and --run. */
#ifndef MPR_LOGS_H
#define MPR_LOGS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "cmd.h"

/* A child of a subcommand's argp, whose positional arguments are all its own; its input is this,
 * zeros at first. */
struct mpr_logs {
    struct mpr_paths paths;
    const char *pid, *rank, *run; /* restrict to this process, rank or run, or NULL for all */
    uint8_t heap;        /* the report's heap, which at least one log must have, or NONE for all */
    bool heap_elsewhere; /* none needs to: the logs of the other side may */
    bool failed;         /* an argument gave none, or one cannot be read: said on stderr */
};
extern const struct argp mpr_logs_argp;
/* --pid and --rank alone: whose command has other arguments fills the paths. */
extern const struct argp mpr_logs_which_argp;

/* Removes all logs that --pid, --rank and --run exclude.  Returns false, after a message on stderr,
 * if no log remains or no log has the heap. */
bool mpr_logs_choose(struct mpr_logs *logs);
/* Gives each to `add`, which returns -1 with *error filled where it cannot be read: that is said on
 * stderr, and the others follow. */
typedef int mpr_log_add(void *to, const char *path, const struct mpr_progress *progress,
                        struct mpr_error *error);
void mpr_logs_each(struct mpr_logs *logs, mpr_log_add *add, void *to);
/* The log for who wants one: of several, or those with the heap, the one that memory ran out for
 * first, else the one with the largest peak, and a line on stderr says so.  As long as the logs;
 * NULL: there is none (said on stderr). */
const char *mpr_logs_one(struct mpr_logs *logs);
/* Leaves that one, or none. */
void mpr_logs_keep_one(struct mpr_logs *logs);
/* Gives back all.  The exit status of a report that ended with `status`. */
int mpr_logs_close(struct mpr_logs *logs, int status);

#endif
