/* Each push and pop of a range, in order, for tools that draw ranges over time.
 *
 * Ranges that are open when the span begins are pushed there, outermost first, and ranges that are
 * open when it ends are popped there. */
#ifndef MPR_RANGE_TURNS_H
#define MPR_RANGE_TURNS_H

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "progress.h"

struct mpr_error;

struct mpr_range_turn {
    bool begins;
    uint64_t time_ns, thread;
    const char *domain, *name; /* valid during the reading; domain: "" for the application's */
    uint64_t step; /* the number of an instance of the step, from 1, or 0 for other ranges */
};

struct mpr_range_turns_options {
    const char *step; /* the name of a range (repeats.h), or NULL */
    uint64_t from_ns, until_ns;
    void (*tell)(void *arg, const struct mpr_range_turn *turn);
    void *arg;
};

/* Returns 0, or -1 with *error filled. */
int mpr_range_turns_read(const char *path, const struct mpr_range_turns_options *options,
                         const struct mpr_progress *progress, struct mpr_error *error);

#endif
