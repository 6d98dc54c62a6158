/* Times in options: what mpr_instant_parse takes, or an instant of the log that mpr_moment_find finds. */
#ifndef MPR_WHEN_H
#define MPR_WHEN_H

#include <argp.h>
#include <stdbool.h>

#include "at.h"
#include "progress.h"

struct mpr_error;

#define MPR_WHEN_EXAMPLES "a time such as 12.5s, 300ms, 00:01:30.250, peak, step:12 or step:12.end is wanted"

/* A usage error, naming the option, unless the text is a time. */
void mpr_when_check(const char *text, const char *option, struct argp_state *state);
/* True for an instant that each log has its own of.  NULL: false. */
bool mpr_when_is_moment(const char *text);
/* The instant in one log, as long as the text's last digit says, at most a millisecond.  text NULL: `otherwise`.  0, or -1 with
 * *error filled. */
int mpr_when_resolve(const char *text, uint64_t otherwise, const char *log, const char *heap,
                     const struct mpr_progress *progress, struct mpr_at *at, struct mpr_error *error);

#endif
