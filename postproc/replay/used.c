#include "used.h"

void mpr_used_sample(struct mpr_used *u, uint64_t used, uint64_t tracked, uint64_t time)
{
    const int64_t hidden = (int64_t)(used - tracked);
    u->jump = u->known ? hidden - u->hidden : 0;
    u->jump_time = time;
    u->hidden = hidden;
    u->known = true;
}

int64_t mpr_used_mark(struct mpr_used *u, uint64_t used, uint64_t tracked)
{
    const int64_t before = u->mark;
    u->hidden = u->mark = (int64_t)(used - tracked);
    u->jump = 0;
    u->known = true;
    return u->mark - before;
}

void mpr_used_tracked(struct mpr_used *u, int64_t delta, uint64_t time)
{
    const bool same_sign = (u->jump > 0 && delta > 0) || (u->jump < 0 && delta < 0);
    const bool covers = delta > 0 ? u->jump >= delta : u->jump <= delta;
    if (!same_sign || !covers || time - u->jump_time > MPR_USED_RACE_NS) return;
    u->hidden -= delta;
    u->jump -= delta;
}
