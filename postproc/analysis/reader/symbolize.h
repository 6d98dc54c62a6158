/* The names of a log's native call stacks, stored as LOG.symbols. */
#ifndef MPR_SYMBOLIZE_H
#define MPR_SYMBOLIZE_H

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "error.h"
#include "progress.h"

struct mpr_symbolized {
    uint64_t calls, named; /* return addresses in object files, and the number stored with a name */
    uint64_t objects;      /* object files that have one of these */
    uint64_t left_out;     /* calls beyond the size limit of the file */
    uint64_t bytes;  /* size of the file, or 0 if no call has a name, so that nothing was written */
    bool incomplete; /* events of the log are missing */
    const char *const *note; /* reasons for missing names, in the arena */
    size_t notes;
};

/* Needs the object files, or names that were stored before.  Returns 0, or -1 with *error filled
 * and nothing changed. */
int mpr_symbolize(struct mpr_symbolized *out, struct mpr_arena *arena, const char *path,
                  const struct mpr_progress *progress, struct mpr_error *error);

#endif
