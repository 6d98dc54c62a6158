/* Keeps logs within a budget for as long as their processes run. */
#ifndef MPR_FOLLOW_H
#define MPR_FOLLOW_H

#include <sys/types.h>

#include "mpf/keep.h"

/* Looks at the logs of the arguments (files and directories, ended by NULL) each second, at the
 * lowest priority, until those that it has seen have ended, or SIGTERM, which is for a last round.
 * process: goes on while that runs, too, and leaves it to that to make one file of each log; 0:
 * none.  Errors are said once each.  0, or -1 where there was one. */
int mpr_follow(char *const *arguments, const struct mpf_keep *keep, pid_t process);

#endif
