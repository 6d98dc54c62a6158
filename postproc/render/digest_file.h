/* Digests as files: databases of SQLite that say so themselves.
 *
 * What is read is checked like a log: nothing of it is believed but that rows are what columns say.
 * No view, trigger or function of the file runs, and its rows are counted before there are too
 * many. */
#ifndef MPR_DIGEST_FILE_H
#define MPR_DIGEST_FILE_H

#include "database.h"
#include "digest.h"

/* NULL, or what went wrong, in memory that lasts: then what was there is as it was. */
const char *mpr_digest_write(const struct mpr_digest *digest,
                             const struct mpr_database_place *place);

enum mpr_digest_found {
    MPR_DIGEST_GOOD,
    MPR_DIGEST_MISSING,  /* no such file */
    MPR_DIGEST_NOT_READ, /* no right to read it, or no SQLite in this build */
    MPR_DIGEST_FOREIGN,  /* it is no digest */
    MPR_DIGEST_DAMAGED,  /* or of an older version */
    MPR_DIGEST_NEWER,    /* of a version that this one cannot read */
};
/* GOOD: *digest is to be freed.  Else *why says what is wrong, in the arena. */
enum mpr_digest_found mpr_digest_read(struct mpr_digest *digest, const char *path,
                                      struct mpr_arena *arena, const char **why);

#endif
