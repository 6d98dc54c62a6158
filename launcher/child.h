/* Runs the command for the launcher: forwards signals, and reports when it stops and ends. */
#ifndef MPL_CHILD_H
#define MPL_CHILD_H

#include <stddef.h>
#include <sys/types.h>

#include "tree.h"

/* A variable and its value. NULL unsets it. */
struct mpl_variable {
    const char *name, *value;
};

struct mpl_command {
    const char *path;
    char **argv; /* terminated by NULL */
    /* Changes of its environment, terminated by a NULL name. */
    const struct mpl_variable *variables;
};

/* Runs the command in this process group until it ends. Returns waitpid's status, or -1 with errno
 * if it cannot be started.
 *
 * Signals of other processes are forwarded. Signals of the terminal reach the whole group, and so
 * do those that the command's processes send to their group, which contains the launcher. If an
 * outside sender names the group, the command gets the signal twice, because this cannot be
 * distinguished from naming the launcher. If the terminal stops the command (^Z), the launcher also
 * stops. */
int mpl_child_run(const struct mpl_command *command, struct mpl_tree *tree);

#endif
