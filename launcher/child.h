/* Runs the command and stands in for it: signals go to it, its stops and its end come back. */
#ifndef MPL_CHILD_H
#define MPL_CHILD_H

#include <stddef.h>
#include <sys/types.h>

#include "tree.h"

/* value NULL: unset */
struct mpl_variable {
    const char *name, *value;
};

struct mpl_command {
    const char *path;
    char **argv;                          /* ended by NULL */
    const struct mpl_variable *variables; /* of its environment, ended by name NULL */
};

/* Runs it in this process group until it ends.  waitpid's status, or -1 with errno when it cannot
 * be started.
 *
 * Signals that another process sends are forwarded.  Those of the terminal go to the whole group
 * and reach the command by themselves; so do those that the command's own processes send to their
 * group, which the launcher is in.  A sender elsewhere who names the group reaches the command
 * twice: that cannot be told from one who names the launcher. When the terminal stops the command
 * (^Z) the launcher stops too. */
int mpl_child_run(const struct mpl_command *command, struct mpl_tree *tree);

#endif
