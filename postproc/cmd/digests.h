/* Digests of logs, as commands find, make and check them. */
#ifndef MPR_DIGESTS_H
#define MPR_DIGESTS_H

#include <stdbool.h>
#include <stddef.h>

#include "digest.h"
#include "output.h"
#include "progress.h"

struct mpr_error;

/* All zeros at first. */
struct mpr_digests {
    struct mpr_digest *at;
    size_t count, cap;
    size_t made; /* from logs that had no digest or an old one */
    bool failed; /* a digest cannot be had; after a message on stderr */
};

/* Adds the digests of the operands: a digest, that of a log, or all of a directory.  A digest that
 * is missing, unreadable or older than its log is made from the log, and not stored.
 * @output: how paths are shown */
void mpr_digests_add(struct mpr_digests *all, const char *const *operand, size_t operands,
                     const struct mpr_output *output);
/* Prints a note on stderr if more than @max digests were made, because that takes long. */
void mpr_digests_say_made(const struct mpr_digests *all, size_t max);
void mpr_digests_free(struct mpr_digests *all);

#endif
