/* The names of a log's native call stacks, stored beside it as LOG.symbols. */
#ifndef MPR_SYMBOLIZE_H
#define MPR_SYMBOLIZE_H

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "error.h"
#include "progress.h"

struct mpr_symbolized {
    uint64_t calls, named; /* return addresses in object files; of them those stored with a name */
    uint64_t objects;      /* object files that have one of these */
    uint64_t left_out;     /* calls that there was no more room for */
    uint64_t bytes;        /* of the file; 0: no call has a name, and nothing was written */
    bool incomplete;       /* events of the log are missing */
    const char *const *note; /* why there are no names, in the arena */
    size_t notes;
};

/* Needs the object files, or what was stored before.  0, or -1 with *error filled and nothing
 * changed. */
int mpr_symbolize(struct mpr_symbolized *out, struct mpr_arena *arena, const char *path,
                  const struct mpr_progress *progress, struct mpr_error *error);

#endif
