/* Whether the kernel can execute a file, asked before the log is made ready for an exec.
 *
 * Programs search for commands by executing one path after the other.  These answers cost one or
 * two system calls, and less than 400 bytes of stack.  True also means "not known": the exec itself
 * shows whether the file is a program, and whether arguments are too long.  Keeps errno; any
 * context.
 */
#ifndef MP_RUNNABLE_H
#define MP_RUNNABLE_H

#include <stdbool.h>

/* Parameters as for execveat. */
bool mp_runnable_at(int dir, const char *path, int flags);
/* The same for a name that execvp searches for in PATH. */
bool mp_runnable_found(const char *name);

#endif
