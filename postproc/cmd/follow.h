/* Keeps logs within a budget for as long as their processes run. */
#ifndef MPR_FOLLOW_H
#define MPR_FOLLOW_H

#include <sys/types.h>

#include "mpf/keep.h"

/* Looks at logs once a second, at the lowest priority, until the processes of all logs that it has
 * seen have ended.  SIGTERM ends it after one more round.  Prints each error once.  Returns 0, or
 * -1 if there was an error.
 * @arguments: files and directories; a NULL ends the list
 * @run: as in mpr_compact
 * @process: go on while this process runs, which then makes one file of each log; or 0 */
int mpr_follow(char *const *arguments, const struct mpf_keep *keep, const char *run, pid_t process);

#endif
