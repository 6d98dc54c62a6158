/* Runs the command and stands in for it: signals go to it, its stops and its end come back. */
#ifndef MP_CHILD_H
#define MP_CHILD_H

#include <stddef.h>
#include <sys/types.h>

struct mp_variable { const char *name, *value; };       /* value NULL: unset */

struct mp_command {
    const char *path;
    char **argv;                            /* ended by NULL */
    const struct mp_variable *variables;    /* of its environment, ended by name NULL */
};

/* Runs it in this process group until it ends.  waitpid's status, or -1 with errno when it cannot be started.
 *
 * Signals sent to the launcher alone are forwarded; those of the terminal, and those that a process of this group
 * sends, reach the command by themselves.  When the command is stopped (^Z) the launcher stops too. */
int mp_child_run(const struct mp_command *command);

/* Ends this process as the command ended: the same exit status, or the same signal, without a core file. */
void mp_child_end_like(int status) __attribute__((noreturn));

#endif
