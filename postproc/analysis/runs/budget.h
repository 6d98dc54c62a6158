/* Limits of a run: of heaps, and in them of ranges, lines, threads and roles.
 *
 * A file has one per line; # begins a comment, and names with blanks are in double quotes:
 *
 *     heap gpu0/torch 12GiB
 *     range "step * > forward" gpu0/torch 4GiB     with what is opened inside; * is any text
 *     line "load (loader.py:*)" host/heap 1 GB      a line of peaks; * is any text of one name
 *     thread loader* host/heap 500MB
 *     role activations gpu0/torch 20GiB            as breakdown.h has them
 *     heap host/shm 1MB optional                   there may be no such heap, range, ...
 */
#ifndef MPR_BUDGET_H
#define MPR_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "breakdown.h"

struct mpr_error;

enum mpr_limit_of {
    MPR_LIMIT_HEAP,
    MPR_LIMIT_RANGE,
    MPR_LIMIT_THREAD,
    MPR_LIMIT_ROLE,
    MPR_LIMIT_LINE,   /* a line of `peaks`, or of `diff` with a base */
    MPR_LIMIT_DEVICE, /* only with a base, as the next ones: a device's used bytes */
    MPR_LIMIT_COMMS,
    MPR_LIMIT_GRAPHS
};

struct mpr_limit {
    enum mpr_limit_of of;
    const char *name;    /* a pattern of ranges or threads, a role's key, or a line of `diff`; "":
                            the whole */
    enum mpr_role role;  /* of a role */
    uint8_t heap;        /* MPF_HEAP_NONE: of another account of `diff` */
    const char *account; /* for people: the heap's name or that account's */
    const char *from;    /* "budget.txt:3", "--max" */
    uint64_t bytes;
    bool optional; /* it may be about nothing that there is */
};

struct mpr_budget {
    struct mpr_arena arena;
    struct mpr_limit *limit;
    size_t limits, cap;
};

/* Its texts must last as long.  The account is set to the heap. */
void mpr_budget_add(struct mpr_budget *budget, const struct mpr_limit *limit);
/* 0, or -1 with *error filled: file, line, and what is wanted there. */
int mpr_budget_read(struct mpr_budget *budget, const char *path, struct mpr_error *error);
void mpr_budget_free(struct mpr_budget *budget);

/* Adds the limit of one line, which is changed.  @from: the same as in mpr_limit; messages
 * begin with it. 0, or -1 with *error filled. */
int mpr_budget_line(struct mpr_budget *budget, char *line, const char *from,
                    struct mpr_error *error);

/* "12GiB", "1.5GiB", "500MB", "50 MB", "4096": bytes. */
bool mpr_budget_size(const char *text, uint64_t *bytes);

#endif
