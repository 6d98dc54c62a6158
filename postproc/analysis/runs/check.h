/* Whether runs keep their limits: the result behind `memprof-report check`. */
#ifndef MPR_CHECK_H
#define MPR_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "breakdown.h"
#include "budget.h"
#include "diff.h"
#include "peaks.h"

struct mpr_check_row {
    const char *log;
    size_t log_index; /* in `best` */
    struct mpr_limit limit;
    uint64_t is, over;         /* bytes at the heap's peak; over: beyond the limit */
    bool absent;               /* the log has no such heap, account or sample */
    bool unmatched;            /* no range, line, thread or role of the heap matches */
    const char *nearest;       /* a similar name, or "" */
    bool nearest_is_line;      /* the similar name is a line of the table, not a range */
    bool not_found;            /* absent or unmatched in each log, and the limit is not optional */
    const struct mpr_row *row; /* the rows of these bytes, largest first, grouped by `by` */
    size_t rows;
    enum mpr_group by;
    const char *grown; /* limits of a base: the line that grew most, or "" */
    uint64_t grown_bytes;
    bool grown_estimated;
    struct mpr_reading_peak reached; /* RSS, CGROUP: the time */
    bool is_approximate;             /* `is` is an estimate, or the heap's peak is approximate */
};

struct mpr_check {
    struct mpr_arena arena;
    const struct mpr_naming *naming;
    const struct mpr_budget *budget;
    struct mpr_peaks best, ranges, threads; /* one log for each run, if a limit needs it */
    struct mpr_breakdown *breakdown;        /* likewise */
    size_t breakdowns, breakdown_room;
    struct mpr_check_row *row;
    size_t rows, cap, broken, not_found;
    size_t budget_rows; /* rows of the budget's limits: one in each log, before the rows of a base
                         */
};

/* @naming: how lines are named; it and the budget must live as long as the check. */
void mpr_check_init(struct mpr_check *check, const struct mpr_naming *naming,
                    const struct mpr_budget *budget);
/* Reads a log and compares it with the budget.  Returns 0, or -1 with *error filled. */
int mpr_check_add(struct mpr_check *check, const char *path, const struct mpr_progress *progress,
                  struct mpr_error *error);
/* Call it after the last log.  Finds the limits that match nothing in any log. */
void mpr_check_end(struct mpr_check *check);
/* Compares accounts with those of a base run: each account, and each of its lines, may grow by
 * @part of the account.  The diff must live as long as the check. */
void mpr_check_against(struct mpr_check *check, const struct mpr_diff *diff, double part);
/* Adds limits to the budget that the run would keep, each with @part of its bytes to spare. */
int mpr_check_suggest(struct mpr_check *check, struct mpr_budget *budget, double part,
                      const char *path, const struct mpr_progress *progress,
                      struct mpr_error *error);
void mpr_check_free(struct mpr_check *check);

#endif
