/* Compares runs with limits: the result of `memprof-report check`. */
#ifndef MPR_CHECK_H
#define MPR_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "breakdown.h"
#include "diff.h"
#include "peaks.h"

/* ---- limits
 *
 * Limits of a run: on heaps, and on ranges, lines, threads and roles in a heap.
 *
 * A file has one limit per line.  # begins a comment, and names with blanks are in double quotes:
 *
 *     heap gpu0/torch 12GiB
 *     range "step * > forward" gpu0/torch 4GiB     includes inner ranges; * is any text
 *     line "load (loader.py:*)" host/heap 1 GB      a line of peaks; * is any text of one name
 *     thread loader* host/heap 500MB
 *     role activations gpu0/torch 20GiB            breakdown.h
 *     rss 2GiB                                      the process's resident memory
 *     cgroup 4GiB                                   the charge of its memory cgroup
 *     heap host/shm 1MB optional                   the heap may be missing */

struct mpr_error;

enum mpr_limit_kind {
    MPR_LIMIT_HEAP,
    MPR_LIMIT_RANGE,
    MPR_LIMIT_THREAD,
    MPR_LIMIT_ROLE,
    MPR_LIMIT_LINE, /* a line of peaks, or of diff if there is a base run */
    MPR_LIMIT_RSS,
    MPR_LIMIT_CGROUP,
    MPR_LIMIT_DEVICE, /* this and the next two only with a base run: a device's used bytes */
    MPR_LIMIT_COMMS,
    MPR_LIMIT_GRAPHS
};

extern const char *const mpr_limit_words[]; /* by kind: "heap" */

struct mpr_limit {
    enum mpr_limit_kind kind;
    const char *name; /* a pattern of ranges, lines or threads, a role's key, or a line of diff; ""
                         for the whole heap or account */
    enum mpr_role role; /* of ROLE */
    uint8_t heap; /* MPF_HEAP_NONE for RSS, the cgroup, and accounts of diff that are not heaps */
    const char *account; /* for people: the name of the heap or account, "rss", or "cgroup" */
    const char *from;    /* origin of the limit: "budget.txt:3", "--max" */
    uint64_t bytes;
    bool optional; /* it may match nothing */
};

struct mpr_budget {
    struct mpr_arena arena;
    struct mpr_limit *limit;
    size_t limits, cap;
};

/* Adds a limit and sets its account. Its texts must live as long as the budget. */
void mpr_budget_add(struct mpr_budget *budget, const struct mpr_limit *limit);
/* Reads a file. Returns 0, or -1 with *error: the file, the line, and the expected form. */
int mpr_budget_read(struct mpr_budget *budget, const char *path, struct mpr_error *error);
void mpr_budget_free(struct mpr_budget *budget);

/* Adds the limit of one line, and changes the text of the line. @from: as in mpr_limit; errors
 * begin with it. Returns 0, or -1 with *error filled. */
int mpr_budget_line(struct mpr_budget *budget, char *line, const char *from,
                    struct mpr_error *error);

/* Returns MPR_LIMIT_RSS for "rss", MPR_LIMIT_CGROUP for "cgroup", otherwise MPR_LIMIT_HEAP. */
enum mpr_limit_kind mpr_budget_kind(const char *name);

/* Reads bytes: "12GiB", "1.5GiB", "500MB", "50 MB", "4096".  Returns false for other text. */
bool mpr_budget_size(const char *text, uint64_t *bytes);

struct mpr_check_row {
    const char *log;
    size_t log_index; /* in `best` */
    struct mpr_limit limit;
    uint64_t bytes, over;      /* at the heap's peak; over: more than the limit */
    bool absent;               /* the log has no such heap, account or sample */
    bool unmatched;            /* the heap has no range, line, thread or role that matches */
    const char *nearest;       /* a similar name, or "" */
    bool nearest_is_line;      /* the similar name is a line of the table, not a range */
    bool not_found;            /* absent or unmatched in all logs, and not optional */
    const struct mpr_row *row; /* the rows with these bytes, largest first, grouped by `by` */
    size_t rows;
    enum mpr_group by;
    const char *grown; /* with a base run: the line that grew most, or "" */
    uint64_t grown_bytes;
    bool grown_estimated;
    struct mpr_reading_peak reached; /* RSS, CGROUP: when it was reached */
    bool is_approximate;             /* `bytes` is an estimate, or the heap's peak is approximate */
};

struct mpr_check {
    struct mpr_arena arena;
    const struct mpr_naming *naming;
    const struct mpr_budget *budget;
    struct mpr_peaks best, ranges, threads; /* one log for each run, if a limit needs them */
    struct mpr_breakdown *breakdown;        /* the same */
    size_t breakdowns, breakdown_room;
    struct mpr_check_row *row;
    size_t rows, cap, broken, not_found;
    size_t budget_rows; /* rows of the budget's limits, one for each log; they precede the rows for
                           a base run */
};

/* @naming: how lines are named. It and the budget must live as long as the check. */
void mpr_check_init(struct mpr_check *check, const struct mpr_naming *naming,
                    const struct mpr_budget *budget);
/* Reads a log and compares it with the budget.  Returns 0, or -1 with *error filled. */
int mpr_check_add(struct mpr_check *check, const char *path, const struct mpr_progress *progress,
                  struct mpr_error *error);
/* Finds the limits that match nothing in any log. Call it after the last log. */
void mpr_check_end(struct mpr_check *check);
/* Compares accounts with those of a base run. Each account, and each of its lines, may grow by
 * the share @part of the account. The diff must live as long as the check. */
void mpr_check_against(struct mpr_check *check, const struct mpr_diff *diff, double part);
/* Adds limits to the budget: what the run uses, plus the share @part. */
int mpr_check_suggest(struct mpr_check *check, struct mpr_budget *budget, double part,
                      const char *path, const struct mpr_progress *progress,
                      struct mpr_error *error);
void mpr_check_free(struct mpr_check *check);

#endif
