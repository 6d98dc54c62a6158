#include "repairs.h"

static struct mpr_repair *nth(struct mpr_repairs *r, uint32_t n)
{
    return &r->at[(r->first + n) % MPR_REPAIRS_MAX];
}

void mpr_repairs_wait(struct mpr_repairs *r, const struct mpr_repair *repair)
{
    *nth(r, r->count++) = *repair;
}

bool mpr_repairs_match(struct mpr_repairs *r, uint64_t key, enum mpr_waiting kind,
                       uint32_t not_thread)
{
    for (uint32_t i = 0; i < r->count; i++) {
        struct mpr_repair *repair = nth(r, i);
        if (repair->key != key || repair->kind != kind ||
            (not_thread && repair->thread == not_thread))
            continue;
        repair->kind = 0;
        return true;
    }
    return false;
}

bool mpr_repairs_expire(struct mpr_repairs *r, uint64_t now, struct mpr_repair *out)
{
    while (r->count) {
        const struct mpr_repair *oldest = nth(r, 0);
        if (oldest->kind && now - oldest->time <= MPR_REPAIR_NS && r->count < MPR_REPAIRS_MAX)
            return false;
        *out = *oldest;
        r->first = (r->first + 1) % MPR_REPAIRS_MAX;
        r->count--;
        if (out->kind) return true;
    }
    return false;
}
