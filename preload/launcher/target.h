/* The command that is to run: where it is, what will really run, and why it cannot be recorded. */
#ifndef MP_TARGET_H
#define MP_TARGET_H

#include <limits.h>

#include "object.h"

/* Exit statuses of env(1), timeout(1) and the shells. */
enum { MP_STATUS_OWN = 125, MP_STATUS_NOT_EXECUTABLE = 126, MP_STATUS_NOT_FOUND = 127 };

struct mp_target {
    char path[PATH_MAX];            /* the command's file */
    char program[PATH_MAX];         /* the ELF file: itself, or a script's interpreter */
    struct mp_object object;        /* of the program */
    char reason[PATH_MAX + 256];    /* of a refusal: one line without the command's name */
};

/* Looks the command up as execvp does.  0; or the status to exit with, and why in t->reason.  Close it either way. */
int mp_target_find(struct mp_target *t, const char *command);
void mp_target_close(struct mp_target *t);

/* The last part of a path. */
const char *mp_target_name(const char *path);

#endif
