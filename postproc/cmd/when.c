#include "when.h"

#include "instant.h"
#include "moment.h"

void mpr_when_check(const char *text, const char *option, struct argp_state *state)
{
    uint64_t ns;
    if (!mpr_instant_parse(text, &ns) && !mpr_moment_parse(text))
        argp_error(state, "--%s=%s: " MPR_WHEN_EXAMPLES, option, text);
}

bool mpr_when_is_moment(const char *text)
{
    uint64_t ns;
    return text && !mpr_instant_parse(text, &ns) && mpr_moment_parse(text);
}

int mpr_when_resolve(const char *text, uint64_t otherwise, const char *log, const char *heap,
                     const struct mpr_progress *progress, uint64_t *ns, struct mpr_error *error)
{
    *ns = otherwise;
    if (!text || mpr_instant_parse(text, ns)) return 0;
    return mpr_moment_find(log, text, heap, progress, ns, error);
}
