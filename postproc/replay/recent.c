#include "recent.h"

#include <string.h>

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* In two pieces at most: each batch of every log comes here. */
void mpr_recent_end(struct mpr_recent *r, size_t count)
{
    const size_t last = least(count, MPR_RECENT), at = r->count % MPR_RECENT;
    const size_t first = least(last, MPR_RECENT - at);
    const struct mpf_event *from = r->batch + count - last;
    memcpy(r->before + at, from, first * sizeof *from);
    memcpy(r->before, from + first, (last - first) * sizeof *from);
    r->count += last;
}

const struct mpf_event *mpr_recent_back(const struct mpr_recent *r, uint32_t n)
{
    const uint64_t in_batch = (uint64_t)(r->at - r->batch);
    if (n > MPR_RECENT || n > in_batch + r->count) return NULL;
    if (n <= in_batch) return r->at - n;
    return &r->before[(r->count - (n - in_batch)) % MPR_RECENT];
}
