/* Each time that a range is pushed or popped, in order: for tools that draw ranges over time.
 *
 * What was open before the beginning is pushed there, outermost first, and what is open at the end
 * popped then. */
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
    const char *domain, *name; /* domain "": the application's own; as long as the reading */
    uint64_t step; /* of the range that is called the step: which instance, from 1; else 0 */
};

struct mpr_range_turns_options {
    const char *step; /* the name of a range (repeats.h); NULL: none is one */
    uint64_t from_ns, until_ns;
    void (*tell)(void *arg, const struct mpr_range_turn *turn);
    void *arg;
};

/* 0, or -1 with *error filled. */
int mpr_range_turns_read(const char *path, const struct mpr_range_turns_options *options,
                         const struct mpr_progress *progress, struct mpr_error *error);

#endif
