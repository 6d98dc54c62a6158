/* Digests as files, which are SQLite databases.
 *
 * A file is checked like a log: each row must have values of its columns' types.  Views, triggers
 * and functions of the file are not run, and reading ends when there are too many rows. */
#ifndef MPR_DIGEST_FILE_H
#define MPR_DIGEST_FILE_H

#include "database.h"
#include "digest.h"

/* Returns NULL, or what went wrong, which is never freed; an older file then stays as it was. */
const char *mpr_digest_write(const struct mpr_digest *digest,
                             const struct mpr_database_place *place);

enum mpr_digest_found {
    MPR_DIGEST_GOOD,
    MPR_DIGEST_MISSING,  /* no such file */
    MPR_DIGEST_NOT_READ, /* no right to read it, or a build without SQLite */
    MPR_DIGEST_FOREIGN,  /* not a digest */
    MPR_DIGEST_DAMAGED,  /* or of an older version */
    MPR_DIGEST_NEWER,    /* a version that this program cannot read */
};
/* If the result is GOOD, the caller frees *digest; otherwise *why is the reason, in the arena. */
enum mpr_digest_found mpr_digest_read(struct mpr_digest *digest, const char *path,
                                      struct mpr_arena *arena, const char **why);

#endif
