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
    uint64_t is, over;         /* bytes at the heap's peak; over 0: it is kept */
    bool absent;               /* the log has no such heap, or account */
    bool unmatched;            /* the heap has no range, line, thread or role that is meant */
    const char *nearest;       /* a name that may be meant instead; "": none is near */
    bool nearest_is_line;      /* it is a line of the table, not a range */
    bool not_found;            /* it is so in each log, and the limit is not optional */
    const struct mpr_row *row; /* what it is made of, largest first, by `by` */
    size_t rows;
    enum mpr_group by;
    const char *grown; /* of an account that a base limits: the line that grew most; "": none */
    uint64_t grown_bytes;
    bool grown_estimated;
    bool is_about; /* `is` is an estimate, or the peak of a heap may be another */
};

struct mpr_check {
    struct mpr_arena arena;
    const struct mpr_naming *naming;
    struct mpr_peaks best, ranges, threads; /* one log a run: of each as far as it is needed */
    struct mpr_breakdown *breakdown;        /* the same */
    size_t breakdowns, breakdown_room;
    struct mpr_check_row *row;
    size_t rows, cap, broken, not_found;
    size_t limits, budget_rows; /* of the budget: that many rows of each log, which come first */
};

/* @naming: how lines are named; it must last as long as the check. */
void mpr_check_init(struct mpr_check *check, const struct mpr_naming *naming);
/* Reads a log and compares it with the budget.  0, or -1 with *error filled. */
int mpr_check_add(struct mpr_check *check, const struct mpr_budget *budget, const char *path,
                  const struct mpr_progress *progress, struct mpr_error *error);
/* After the last log: which limits are about nothing that any of them has. */
void mpr_check_end(struct mpr_check *check, const struct mpr_budget *budget);
/* Each account, and each line of it, may grow by that part of the account in the base; the diff
 * must last as long. */
void mpr_check_against(struct mpr_check *check, const struct mpr_diff *diff,
                       const struct mpr_naming *naming, double part);
/* Limits that a run would keep, with that part of each to spare. */
int mpr_check_suggest(struct mpr_check *check, struct mpr_budget *budget, double part,
                      const char *path, const struct mpr_progress *progress,
                      struct mpr_error *error);
void mpr_check_free(struct mpr_check *check);

#endif
