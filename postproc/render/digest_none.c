/* memprof-report built without SQLite. */
#include "digest_file.h"

#include <unistd.h>

enum mpr_digest_found mpr_digest_read(struct mpr_digest *digest, const char *path,
                                      struct mpr_arena *arena, const char **why)
{
    (void)digest, (void)arena;
    *why = "memprof-report was built without SQLite, which digests need";
    return access(path, F_OK) == 0 ? MPR_DIGEST_NOT_READ : MPR_DIGEST_MISSING;
}
