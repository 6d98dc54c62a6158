/* The names of a log's native call stacks, stored as LOG.symbols. */
#ifndef MPR_SYMBOLIZE_H
#define MPR_SYMBOLIZE_H

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "error.h"
#include "progress.h"

struct mpr_symbolized {
    uint64_t calls, named; /* return addresses in object files; those stored with a name */
    uint64_t objects;      /* object files with a stored name */
    uint64_t left_out;     /* calls that exceed the size limit of the file */
    uint64_t bytes;  /* size of the file, or 0 if nothing was written because no call has a name */
    bool incomplete; /* events of the log are missing */
    const char *const *note; /* reasons for missing names, in the arena */
    size_t notes;
};

/* Looks up the names in the object files, or in names that were stored before. Returns 0, or -1
 * with *error filled and nothing changed. */
int mpr_symbolize(struct mpr_symbolized *out, struct mpr_arena *arena, const char *path,
                  const struct mpr_progress *progress, struct mpr_error *error);

#endif
