/* Limits of a run: on heaps, and on ranges, lines, threads and roles in a heap.
 *
 * A file has one limit per line; # begins a comment, and names with blanks are in double quotes:
 *
 *     heap gpu0/torch 12GiB
 *     range "step * > forward" gpu0/torch 4GiB     includes inner ranges; * is any text
 *     line "load (loader.py:*)" host/heap 1 GB      a line of peaks; * is any text of one name
 *     thread loader* host/heap 500MB
 *     role activations gpu0/torch 20GiB            see breakdown.h
 *     rss 2GiB                                      the process's resident memory
 *     cgroup 4GiB                                   the charge of its memory cgroup
 *     heap host/shm 1MB optional                   the heap, range, ... may be missing
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
    MPR_LIMIT_LINE, /* a line of `peaks`, or with a base of `diff` */
    MPR_LIMIT_RSS,
    MPR_LIMIT_CGROUP,
    MPR_LIMIT_DEVICE, /* only with a base, like the next two: a device's used bytes */
    MPR_LIMIT_COMMS,
    MPR_LIMIT_GRAPHS
};

extern const char *const mpr_limit_words[]; /* "heap", by kind */

struct mpr_limit {
    enum mpr_limit_of of;
    const char *name;   /* a pattern of ranges, lines or threads, a role's key, or a line of `diff`;
                           "" for the whole heap or account */
    enum mpr_role role; /* of ROLE */
    uint8_t heap;       /* MPF_HEAP_NONE for RSS, the cgroup, and another account of `diff` */
    const char *account; /* for people: the name of the heap or account, "rss", or "cgroup" */
    const char *from;    /* "budget.txt:3", "--max" */
    uint64_t bytes;
    bool optional; /* it may match nothing */
};

struct mpr_budget {
    struct mpr_arena arena;
    struct mpr_limit *limit;
    size_t limits, cap;
};

/* Adds a limit, whose texts must live as long as the budget.  Sets its account. */
void mpr_budget_add(struct mpr_budget *budget, const struct mpr_limit *limit);
/* Reads a file.  Returns 0, or -1 with *error filled: file, line, and the expected form. */
int mpr_budget_read(struct mpr_budget *budget, const char *path, struct mpr_error *error);
void mpr_budget_free(struct mpr_budget *budget);

/* Adds the limit of one line, which is changed.  @from: as in mpr_limit; messages begin with it.
 * Returns 0, or -1 with *error filled. */
int mpr_budget_line(struct mpr_budget *budget, char *line, const char *from,
                    struct mpr_error *error);

/* Returns MPR_LIMIT_RSS for "rss", MPR_LIMIT_CGROUP for "cgroup", otherwise MPR_LIMIT_HEAP. */
enum mpr_limit_of mpr_budget_of(const char *name);

/* Reads bytes: "12GiB", "1.5GiB", "500MB", "50 MB", "4096".  Returns false for other text. */
bool mpr_budget_size(const char *text, uint64_t *bytes);

#endif
