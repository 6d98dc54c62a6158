/* memprof-report built without SQLite. */
#include "digest_file.h"

enum mpr_digest_found mpr_digest_read(struct mpr_digest *digest, const char *path,
                                      struct mpr_arena *arena, const char **why)
{
    (void)digest, (void)path, (void)arena;
    *why = "memprof-report was built without SQLite, which digests need";
    return MPR_DIGEST_NOT_READ;
}
