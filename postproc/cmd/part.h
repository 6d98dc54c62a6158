/* A file that is written beside the one of its name and takes its place when it is whole: what was
 * there stays until then, and where that fails.  Standard output, and what is no regular file (a
 * pipe, a device), are written as they are.  One at a time. */
#ifndef MPR_PART_H
#define MPR_PART_H

#include <stdbool.h>
#include <stdio.h>

struct mpr_part {
    FILE *file;
    const char *path; /* NULL: standard output */
    char *part;       /* NULL: written as it is */
};

/* path "-": standard output.  0, or -1 with the reason on stderr. */
int mpr_part_open(struct mpr_part *part, const char *path);
/* 0, or -1 with the reason on stderr: then, and where it is not wanted, nothing is there of it. */
int mpr_part_close(struct mpr_part *part, bool wanted);
/* Removes what is written of the one that is open, if one is: for who ends at once. */
void mpr_part_abandon(void);

#endif
