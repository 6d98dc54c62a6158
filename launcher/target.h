/* The command to run: its path, the program that will really run, and why it cannot be recorded. */
#ifndef MPL_TARGET_H
#define MPL_TARGET_H

#include <limits.h>

#include "object.h"

/* Exit statuses besides the command's; the last three are the shells'. */
enum {
    MPL_STATUS_FAILURE = 1,
    MPL_STATUS_USAGE = 2,
    MPL_STATUS_NOT_EXECUTABLE = 126,
    MPL_STATUS_NOT_FOUND = 127,
    MPL_STATUS_SIGNAL = 128, /* and the number of the signal that ended the command */
};

struct mpl_target {
    char path[PATH_MAX];         /* the command's file */
    char program[PATH_MAX];      /* the ELF file: itself, or a script's interpreter */
    struct mpl_object object;    /* of the program */
    char reason[PATH_MAX + 256]; /* of a refusal: one line without the command's name */
};

/* Looks the command up as execvp does.  0; or the status to exit with, and why in t->reason.  Close
 * it either way. */
int mpl_target_find(struct mpl_target *t, const char *command);
void mpl_target_close(struct mpl_target *t);

/* Why the loader ignores LD_PRELOAD for the file ("setuid"), or NULL. */
const char *mpl_target_gains_rights(const char *path);

/* The last part of a path. */
const char *mpl_target_name(const char *path);

#endif
