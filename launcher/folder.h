/* The process that keeps the logs of a run within their size, at the lowest priority. */
#ifndef MPL_FOLDER_H
#define MPL_FOLDER_H

#include <sys/types.h>

/* Starts memprof-report log compact on the run's logs in the directory, each of which says how much
 * of it is kept.  Returns its number, or -1 with a line on stderr: the logs then grow. */
pid_t mpl_folder_start(const char *directory, const char *run);
/* Lets it end with a last round, and waits for it.  -1: there is none. */
void mpl_folder_end(pid_t folder);

#endif
