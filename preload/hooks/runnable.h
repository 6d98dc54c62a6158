/* Checks whether the kernel can execute a file, before the log is prepared for an exec.
 *
 * Programs search for commands by executing one path after the other. These checks cost one or two
 * system calls, and less than 400 bytes of stack. The result true also means "unknown": only the
 * exec itself shows whether the file is a program, and whether arguments are too long. Keeps errno;
 * any context. */
#ifndef MP_RUNNABLE_H
#define MP_RUNNABLE_H

#include <stdbool.h>

/* Parameters as for execveat. */
bool mp_runnable_at(int dir, const char *path, int flags);
/* The same for a name that execvp searches for in PATH. */
bool mp_runnable_found(const char *name);

#endif
