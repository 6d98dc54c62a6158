/* An error as one line for the user: the path, the offset if there is one, and what to do.
 *
 * Libraries fill it and return -1.  Only the command prints it. */
#ifndef MPR_ERROR_H
#define MPR_ERROR_H

struct mpr_error {
    char text[1024];
};

/* Each of these writes a message, cut if it is too long, and returns -1. */
int mpr_fail(struct mpr_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* After a failed system call: "PATH: cannot WHAT: strerror(errno)". */
int mpr_fail_errno(struct mpr_error *error, const char *path, const char *what);
/* If memory ran out while this file was read. */
int mpr_fail_memory(struct mpr_error *error, const char *path);

#endif
