/* How a process ended, if its log does not say it.  Private to this layer. */
#ifndef MPR_FATE_H
#define MPR_FATE_H

#include "summary.h"

struct mpr_fate_text {
    char text[96];
};
/* Returns "OOM-killed by the kernel", "SIGTERM", "exit status 1" or "killed, or left by
 * exit_group", or "" if the log says it. */
const char *mpr_fate_text_of(struct mpr_fate_text *t, const struct mpr_summary *s);

#endif
