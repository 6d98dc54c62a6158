/* The story of each lack of memory: what is behind `memprof-report oom`. */
#ifndef MPR_OOMS_H
#define MPR_OOMS_H

#include "ooms_result.h"
#include "progress.h"

struct mpr_error;

/* Reads one log.  0, or -1 with *error filled (the other logs stay good). */
int mpr_ooms_add(struct mpr_ooms *ooms, const char *path, const struct mpr_progress *progress,
                 struct mpr_error *error);
/* After the last: finds who failed first, reads the logs once more, up to that instant, and looks
 * for what insights finds in the log of who failed. */
void mpr_ooms_finish(struct mpr_ooms *ooms, const struct mpr_progress *progress);
void mpr_ooms_free(struct mpr_ooms *ooms);

#endif
