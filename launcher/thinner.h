/* Starts the process that keeps the logs of a run within their size, at the lowest priority. */
#ifndef MPL_THINNER_H
#define MPL_THINNER_H

#include <sys/types.h>

/* Starts memprof-report log compact on the run's logs in the directory. Each log contains its own
 * limit. Returns its process ID. If it cannot be started, prints a line on stderr and returns -1,
 * and the logs grow. */
pid_t mpl_thinner_start(const char *directory, const char *run);
/* Lets it do a last round and waits for its end. @thinner: -1 if it was not started. */
void mpl_thinner_end(pid_t thinner);

#endif
