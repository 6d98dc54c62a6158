/* Several events share a time, so an instant has its turns before the first event that is in it,
 * before the first that is behind its first time, and before the first that is behind all of it. */
#include "chosen.h"

#include "gpu_peaks.h"

void mpr_chosen_init(struct mpr_replay *r)
{
    const struct mpr_instant at = r->options.at;
    r->turn = at.settled ? at.to : at.from;
    if (at.settled && r->turn != MPR_PEAK_TIME) r->turn++;
    r->chosen_turn = r->turn;
}

void mpr_clock_begin(struct mpr_replay *r, const struct mpr_clock *clock)
{
    r->clock = *clock;
    if (clock->next < r->turn) r->turn = clock->next;
}

/* @time: of the next event; UINT64_MAX at the end of the log.  An instant later than the end of the
 * log is the end. */
static void begin(struct mpr_replay *r, uint64_t time)
{
    r->chosen = true;
    if (time == UINT64_MAX && r->now < r->options.at.from)
        r->options.at = MPR_INSTANT_END_OF(r->now);
    mpr_books_choose(&r->books, r->options.at.from, &r->now);
    mpr_gpu_choose(r);
}

static void end(struct mpr_replay *r)
{
    mpr_books_chosen(&r->books);
    mpr_gpu_chosen(r);
    r->pinned = true;
}

static void turn_chosen(struct mpr_replay *r, uint64_t time)
{
    if (mpr_instant_is_peak(r->options.at) || r->pinned || time < r->chosen_turn) return;
    if (!r->chosen) begin(r, time);
    const struct mpr_instant at = r->options.at;
    if (time > at.from) mpr_gpu_carry(r, at.from);
    if (time > at.to) end(r);
    r->chosen_turn = time > at.to ? UINT64_MAX : time > at.from ? at.to + 1 : at.from + 1;
}

static void tick(struct mpr_replay *r, uint64_t time)
{
    struct mpr_clock *clock = &r->clock;
    if (!clock->tick || time < clock->next || time == UINT64_MAX) return;
    clock->tick(clock->arg, r, time);
    clock->next = time + clock->every;
}

void mpr_chosen_turn(struct mpr_replay *r, uint64_t time)
{
    tick(r, time);
    turn_chosen(r, time);
    const uint64_t next = r->clock.tick ? r->clock.next : UINT64_MAX;
    r->turn = next < r->chosen_turn ? next : r->chosen_turn;
}
