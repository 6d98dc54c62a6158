/* What went wrong, as one line for the user: path, offset where there is one, and what to do next.
 *
 * Libraries fill it and return -1; only the command prints. */
#ifndef MPR_ERROR_H
#define MPR_ERROR_H

struct mpr_error {
    char text[1024];
};

/* Writes the message (cut if too long) and returns -1. */
int mpr_fail(struct mpr_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same for a system call on a file: "PATH: cannot WHAT: strerror(errno)". */
int mpr_fail_errno(struct mpr_error *error, const char *path, const char *what);
/* "PATH: not enough memory" */
int mpr_fail_memory(struct mpr_error *error, const char *path);

#endif
