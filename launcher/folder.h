/* Starts the process that keeps the logs of a run within their size, at the lowest priority. */
#ifndef MPL_FOLDER_H
#define MPL_FOLDER_H

#include <sys/types.h>

/* Starts memprof-report log compact on the run's logs in the directory. Each log contains its own
 * limit. Returns its process ID. If it cannot be started, prints a line on stderr and returns -1,
 * and the logs grow. */
pid_t mpl_folder_start(const char *directory, const char *run);
/* Lets it do a last round and waits for its end. @folder: -1 if it was not started. */
void mpl_folder_end(pid_t folder);

#endif
