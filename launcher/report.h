/* Starts memprof-report, with which the launcher shares nothing. */
#ifndef MPL_REPORT_H
#define MPL_REPORT_H

#include <sys/types.h>

#include "logs.h"

/* Starts memprof-report, installed next to this program or in the build tree. @argument: its
 * arguments, terminated by NULL; the first element is set to the program. @prepare: called in the
 * new process. Returns its process ID, or -1 after a line on stderr, which ends with @without if
 * the program is missing. */
pid_t mpl_report_start(const char **argument, void (*prepare)(void), const char *without);
/* Waits until it has ended. @report: -1 if it was not started. */
void mpl_report_wait(pid_t report);

/* Makes the digests of these logs, or stores the names of their calls, at the lowest priority, and
 * waits. Errors are printed on stderr. */
void mpl_report_digest(const struct mpl_logs *logs);
void mpl_report_symbols(const struct mpl_logs *logs);

#endif
