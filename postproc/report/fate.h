/* How a process ended that its log does not say, in words.  Private to this layer. */
#ifndef MPR_FATE_H
#define MPR_FATE_H

#include "summary.h"

struct mpr_fate_text {
    char text[96];
};
/* "OOM-killed by the kernel", "SIGTERM", "exit status 1", "killed, or left by exit_group"; "" where
 * the log says it. */
const char *mpr_fate_words(struct mpr_fate_text *t, const struct mpr_summary *s);

#endif
