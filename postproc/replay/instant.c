/* Several events share a time, so an instant has its turns before the first event that is in it, before the first that is
 * behind its first time, and before the first that is behind all of it. */
#include "instant.h"

#include "gpu_peaks.h"

void mpr_instant_init(struct mpr_replay *r)
{
    if (r->options.until < r->options.at) r->options.until = r->options.at;
    r->turn = r->options.settled ? r->options.until : r->options.at;
    if (r->options.settled && r->turn != MPR_AT_PEAK) r->turn++;
}

static void begin(struct mpr_replay *r)
{
    r->chosen = true;
    mpr_books_choose(&r->books, r->options.at, &r->now);
    mpr_gpu_choose(r);
}

static void end(struct mpr_replay *r)
{
    mpr_books_chosen(&r->books);
    mpr_gpu_chosen(r);
    r->pinned = true;
}

void mpr_instant_turn(struct mpr_replay *r, uint64_t time)
{
    const uint64_t at = r->options.at, until = r->options.until;
    if (at == MPR_AT_PEAK || r->pinned) return;
    if (!r->chosen) begin(r);
    if (time > at) mpr_gpu_carry(r, at);
    if (time > until) end(r);
    r->turn = time > until ? MPR_AT_PEAK : time > at ? until + 1 : at + 1;
}
