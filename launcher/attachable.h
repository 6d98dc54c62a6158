/* Checks whether a process can be attached to, before anything is done to it. */
#ifndef MPL_ATTACHABLE_H
#define MPL_ATTACHABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Writes the reason why the process cannot be attached to, one line without its ID, and returns
 * false. The kernel may still refuse it. */
bool mpl_attachable(pid_t pid, char *reason, size_t cap);
/* Writes why the kernel refused to trace it. @error: its errno */
void mpl_attachable_refused(pid_t pid, int error, char *reason, size_t cap);

/* Returns true if the file at the path is the same for this program and for the process. */
bool mpl_attachable_sees(pid_t pid, const char *path);
/* Reads the users of the process's files. Returns false if it has ended. */
bool mpl_attachable_owner(pid_t pid, uid_t *user, gid_t *group);

#endif
