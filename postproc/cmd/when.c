#include "when.h"

#include "instant.h"
#include "moment.h"

/* Reports print milliseconds, or more digits: a time with fewer is as long as one of theirs. */
#define MPR_WHEN_WIDEST UINT64_C(1000000)

static bool parse(const char *text, struct mpr_at *at)
{
    uint64_t width;
    *at = (struct mpr_at){ .last = false };
    if (!mpr_instant_parse(text, &at->from, &width)) return false;
    if (width > MPR_WHEN_WIDEST) width = MPR_WHEN_WIDEST;
    if (__builtin_add_overflow(at->from, width - 1, &at->to)) at->to = UINT64_MAX;
    return true;
}

void mpr_when_check(const char *text, const char *option, struct argp_state *state)
{
    struct mpr_at at;
    if (!parse(text, &at) && !mpr_moment_parse(text)) argp_error(state, "--%s=%s: " MPR_WHEN_EXAMPLES, option, text);
}

bool mpr_when_is_moment(const char *text)
{
    struct mpr_at at;
    return text && !parse(text, &at) && mpr_moment_parse(text);
}

int mpr_when_resolve(const char *text, uint64_t otherwise, const char *log, const char *heap,
                     const struct mpr_progress *progress, struct mpr_at *at, struct mpr_error *error)
{
    *at = (struct mpr_at){ otherwise, otherwise, false };
    if (!text || parse(text, at)) return 0;
    return mpr_moment_find(log, text, heap, progress, at, error);
}
