#include "ended.h"

#include "repairs.h"

static struct mpr_ended *nth(struct mpr_ended_ring *r, uint64_t number)
{
    return &r->at[number % MPR_RECENT];
}

uint64_t mpr_ended_add(struct mpr_ended_ring *r, uint64_t key, uint64_t time, uint32_t life)
{
    *nth(r, ++r->count) = (struct mpr_ended){ .key = key, .time = time, .life = life };
    return r->count;
}

struct mpr_ended *mpr_ended_get(struct mpr_ended_ring *r, uint64_t number)
{
    return number && r->count - number < MPR_RECENT ? nth(r, number) : NULL;
}

bool mpr_ended_take(struct mpr_ended_ring *r, uint64_t key, uint64_t now, struct mpr_ended *out)
{
    struct mpr_ended *ended;
    for (uint64_t n = r->count; (ended = mpr_ended_get(r, n)); n--) {
        if (now - ended->time > MPR_REPAIR_NS) return false;
        if (ended->key != key) continue;
        *out = *ended;
        ended->key = 0;
        return true;
    }
    return false;
}
