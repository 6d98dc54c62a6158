/* Logs and their digests, as commands name them. */
#ifndef MPR_DIGESTS_H
#define MPR_DIGESTS_H

#include <stdbool.h>

#include "cmd.h"
#include "digest.h"
#include "digest_file.h"

/* "LOG.digest", of the caller. */
char *mpr_digests_beside(const char *log);
/* That of a log, which is believed where it belongs to whom LOG.symbols has to, or where the log is
 * not there. */
enum mpr_digest_found mpr_digests_read(struct mpr_digest *digest, const char *log, const char *path,
                                       struct mpr_arena *arena, const char **why);
/* Was it made of the log as it is now? */
bool mpr_digests_is_fresh(const struct mpr_digest *digest, const char *log);
/* Reads the log; paths are told as `output` says.  0, or -1 with *error filled. */
int mpr_digests_make(struct mpr_digest *digest, const char *log, const struct mpr_output *output,
                     const struct mpr_progress *progress, struct mpr_error *error);

/* Digests of several logs, zeros at first. */
struct mpr_digests {
    struct mpr_digest *at;
    size_t count, cap;
    size_t made; /* of logs, for there was none or an old one */
    bool failed; /* one cannot be had: said on stderr */
};

/* The digests of the arguments: a digest, that of a log, or of a directory all of both.  One that
 * is not there, cannot be read or is older than its log is made of that, and kept in memory only.
 */
void mpr_digests_add(struct mpr_digests *all, const char *const *argument, size_t arguments,
                     const struct mpr_output *output);
void mpr_digests_free(struct mpr_digests *all);

#endif
