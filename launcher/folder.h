/* Who keeps the logs of a run within their budget: a process of its own, of the lowest priority. */
#ifndef MPL_FOLDER_H
#define MPL_FOLDER_H

#include <sys/types.h>

/* Starts memprof-report compact on the directory; its number, or -1 with a line on stderr: the logs
 * then grow, and are folded by whom the user starts. */
pid_t mpl_folder_start(const char *directory, const char *keep);
/* Lets it end with a last round, and waits for it.  -1: there is none. */
void mpl_folder_end(pid_t folder);

#endif
