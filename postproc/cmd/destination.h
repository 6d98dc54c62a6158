/* The destination of a command: standard output, a file that is replaced once it is whole
 * (atomic_file.h), or a pipe, a device or an open file, which is written in place.  One at a time.
 */
#ifndef MPR_DESTINATION_H
#define MPR_DESTINATION_H

#include <stdbool.h>
#include <stdio.h>

#include "atomic_file.h"

struct mpr_destination {
    FILE *file;
    const char *path;              /* NULL: standard output */
    struct mpr_atomic_file atomic; /* fd -1: it is written in place */
};

/* @path: "-" or NULL for standard output.  0, or -1 with the reason on stderr. */
int mpr_destination_open(struct mpr_destination *d, const char *path);
/* Puts the part that is written so far in its place; later writes are added to it.  0, or -1. */
int mpr_destination_publish(struct mpr_destination *d);
/* @wanted: put it in its place.  Otherwise, and on errors, the old file stays.  0, or -1 with the
 * reason on stderr. */
int mpr_destination_close(struct mpr_destination *d, bool wanted);

#endif
