/* Parts of a digest.  Private to this layer. */
#ifndef MPR_DIGEST_PARTS_H
#define MPR_DIGEST_PARTS_H

#include "digest.h"
#include "insights.h"

/* A text of the digest, no longer than its texts may be. */
const char *mpr_digest_text(struct mpr_digest *digest, const char *text);
/* A path of rows by `by`, so bounded; what an empty one is called. */
const char *mpr_digest_path(struct mpr_digest *digest, enum mpr_group by, struct mpr_path path);

/* Heaps with their lines; devices, their parts and communicators. */
void mpr_digest_fill_peaks(struct mpr_digest *digest, const struct mpr_log_peaks *log,
                           const struct mpr_naming *naming);
/* Roles, instances of the outermost range, findings. */
void mpr_digest_fill_rest(struct mpr_digest *digest, const struct mpr_insights *insights);

#endif
