/* The launcher's messages on stderr. */
#ifndef MPL_TELL_H
#define MPL_TELL_H

#include <stdbool.h>

#include "logs.h"
#include "tree.h"

/* Prints one line after "memprof: ". Control characters in names are replaced. */
void mpl_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints how the command ended, the number of processes that the kernel killed for memory, and the
 * processes without memprof. */
void mpl_tell_end(const char *command, int wait_status);
void mpl_tell_oom(const struct mpl_tree *tree, long kills);
void mpl_tell_unseen(const struct mpl_tree *tree);
/* Lists the logs and the next command. @shown: the directory as the user knows it. @each: print a
 * line for each of a few logs. */
void mpl_tell_logs(const struct mpl_logs *logs, const char *shown, bool each);

#endif
