#include "device.h"

#include "mpf/sample.h"

static void note_peak(struct mpr_device *d, uint64_t time, uint64_t ordinal)
{
    d->peak.shares = d->now;
    d->peak.time = time;
    d->peak.ordinal = ordinal;
    d->peak.epoch++;
    d->peak.fresh = true;
}

static uint64_t level(const struct mpr_shares *s) { return s->used == MPF_UNKNOWN ? s->tracked : s->used; }

/* A measurement puts a value of another kind in the place of tracked bytes: they are not to be compared. */
static bool is_new_peak(const struct mpr_shares *now, const struct mpr_shares *peak)
{
    const bool measured = now->used != MPF_UNKNOWN, before = peak->used != MPF_UNKNOWN;
    if (measured != before) return measured;
    if (level(now) != level(peak)) return level(now) > level(peak);
    return now->torch_live > peak->torch_live;
}

void mpr_device_update(struct mpr_device *d, uint64_t time, uint64_t ordinal)
{
    d->now.used = d->used.known ? mpr_used_now(&d->used, d->now.tracked) : MPF_UNKNOWN;
    if (!d->peak.pinned && is_new_peak(&d->now, &d->peak.shares)) note_peak(d, time, ordinal);
}

void mpr_device_pin(struct mpr_device *d, uint64_t time, uint64_t ordinal)
{
    note_peak(d, time, ordinal);
    d->peak.pinned = true;
}

static uint64_t above(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

uint64_t mpr_shares_releasable(const struct mpr_shares *s)
{
    const uint64_t mapped = s->torch_placed + s->torch_split + s->torch_idle + s->torch_graph;
    return s->torch_idle + above(s->owner[MPR_OWNER_TORCH], mapped);
}

int64_t mpr_shares_unknown(const struct mpr_shares *s)
{
    uint64_t named = s->torch_live + s->torch_split + s->torch_graph + mpr_shares_releasable(s);
    named += s->owner[MPR_OWNER_NCCL] + s->owner[MPR_OWNER_LIBRARY] + s->owner[MPR_OWNER_PROGRAM];
    named += s->pools + s->graph_memory + s->managed;
    for (int i = 0; i < MPR_ACCOUNTS; i++) named += (uint64_t)s->account[i];
    if (s->other != MPF_UNKNOWN) named += s->other;
    return s->used == MPF_UNKNOWN ? 0 : (int64_t)(s->used - named);
}
