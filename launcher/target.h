/* The command to run: its path, the program that the kernel will load, and the reason if it cannot
 * be recorded. */
#ifndef MPL_TARGET_H
#define MPL_TARGET_H

#include <limits.h>

#include "object.h"

/* Exit statuses in addition to the command's. The last three are those of shells. */
enum {
    MPL_STATUS_FAILURE = 1,
    MPL_STATUS_USAGE = 2,
    MPL_STATUS_NOT_EXECUTABLE = 126,
    MPL_STATUS_NOT_FOUND = 127,
    MPL_STATUS_SIGNAL = 128, /* plus the number of the signal that ended the command */
};

struct mpl_target {
    char path[PATH_MAX];         /* the command's file */
    char program[PATH_MAX];      /* the ELF file: the command itself, or a script's interpreter */
    struct mpl_object object;    /* of the program */
    char reason[PATH_MAX + 256]; /* the reason for a refusal, one line without the command's name */
};

/* Finds the command as execvp does. Returns 0, or the exit status with the reason in t->reason. The
 * target must be closed in both cases. */
int mpl_target_find(struct mpl_target *t, const char *command);
void mpl_target_close(struct mpl_target *t);

/* Returns why the loader ignores LD_PRELOAD for the file ("setuid"), or NULL. */
const char *mpl_target_gains_rights(const char *path);

/* Returns the last part of a path. */
const char *mpl_target_name(const char *path);

#endif
