#include "core/sampled.h"

#include "core/counted.h"
#include "core/draw.h"
#include "core/loss.h"
#include "core/record.h"
#include "core/thread.h"

struct mp_sampled mp_sampled;
__thread uint64_t mp_sampled_left;

/* Blocks that would almost always be sampled are all recorded: 99 % of the blocks of 4.6 means are
 * sampled. */
bool mp_sampled_init(uint64_t mean)
{
    mp_sampled.mean = mean < MPF_SIZE_MAX ? mean : MPF_SIZE_MAX;
    mp_sampled.large = mean ? (mp_sampled.mean * 23 + 4) / 5 : MP_LARGE;
    if (mean) mp_sampled.live = mp_addresses_map();
    mp_sampled.on = !mean || mp_sampled.live;
    return mp_sampled.on;
}

void mp_sampled_reset(void)
{
    if (mp_sampled.live) mp_addresses_clear(mp_sampled.live);
    mp_sampled_left = 0;
}

/* ---- the countdown: it ends at the next sampling point, or earlier, so that each large block ends
 * it. thread.due has the bytes from its end to the point. */

static uint64_t longest(void) { return mp_sampled.large - 1; }

static void restart(struct mp_thread *t, uint64_t to_point)
{
    const uint64_t left = to_point < longest() ? to_point : longest();
    t->due = to_point - left;
    mp_sampled_left = left;
}

/* Blocks of a handler between a subtraction and its taking back may have led to less than 0. */
static uint64_t countdown(void)
{
    const uint64_t left = mp_sampled_left;
    return left <= longest() ? left : 0;
}

static uint64_t draw(struct mp_thread *t) { return mp_draw(&t->random, mp_sampled.mean) - 1; }

/* Exponential distances have no memory: the distance from the end of a sampled block to the next
 * point, and that from the first block of a thread, are drawn as those between points. */
static bool contains_point(struct mp_thread *t, size_t bytes)
{
    const uint64_t to_point = t->draws ? countdown() + t->due : draw(t);
    const bool contains = bytes > to_point;
    t->draws = true;
    restart(t, contains ? draw(t) : to_point - bytes);
    if (contains) t->made.bytes += mp_sampled.mean; /* about as many were requested */
    if (t->made.bytes >= MP_WORTH_AN_ENCODER) mp_record_want_encoder(true);
    return contains;
}

/* Large blocks are not part of the sequence of bytes. */
static bool is_selected(struct mp_thread *t, size_t bytes)
{
    if (!mp_sampled.mean) mp_sampled_left = longest();
    else if (bytes < mp_sampled.large) return contains_point(t, bytes);
    return mp_sampled.mean;
}

/* Returns true if the block, which the program has just got, is on record from now on. memprof's
 * own calls leave the countdown to the program. If the process is not recorded, or not any more,
 * the next block is examined as late as possible. */
static bool begins(void *p, size_t bytes)
{
    struct mp_thread *const t = mp_counted_slow(bytes);
    if (!t) {
        const bool is_inside = mp_self && mp_self->guard & MP_INSIDE;
        if (!is_inside) mp_sampled_left = longest();
        return false;
    }
    if (!is_selected(t, bytes)) return false;
    if (mp_addresses_add(mp_sampled.live, p)) return true;
    mp_loss(MPF_LOSS_SAMPLES, 1);
    return false;
}

/* Takes the slow path, because each of these few blocks has its call stacks. */
static void record_new(unsigned op, void *p, size_t bytes)
{
    mp_record_slow(op, MPF_HEAP_PART, (uintptr_t)p, bytes);
}

void mp_sampled_examine(void *p, size_t bytes)
{
    if (begins(p, bytes)) record_new(MPF_OP_ALLOC, p, bytes);
}

/* ---- ends of blocks */

static bool take(void *p) { return p && mp_addresses_take(mp_sampled.live, p); }

void mp_sampled_freed(void *p)
{
    if (take(p)) mp_record(MPF_OP_FREE, MPF_HEAP_PART, (uintptr_t)p, 0);
}

bool mp_sampled_moves(void *p)
{
    const bool was = take(p);
    if (was) mp_record(MPF_OP_MOVE_BEGIN, MPF_HEAP_PART, (uintptr_t)p, 0);
    return was;
}

/* If both blocks are on record, the end of the old one and the beginning of the new one are one
 * event. */
void mp_sampled_moved(bool was, void *q, size_t bytes, bool due)
{
    const bool begun = due && q && begins(q, bytes);
    if (was && begun) record_new(MPF_OP_MOVE_END, q, bytes);
    else if (was) mp_record(MPF_OP_MOVE_END, MPF_HEAP_PART, 0, 0);
    else if (begun) record_new(MPF_OP_ALLOC, q, bytes);
}

/* If other blocks have taken all places of the address meanwhile, the block leaves the record. */
void mp_sampled_stays(void *p)
{
    if (mp_addresses_add(mp_sampled.live, p)) return;
    mp_record(MPF_OP_FREE, MPF_HEAP_PART, (uintptr_t)p, 0);
    mp_loss(MPF_LOSS_SAMPLES, 1);
}

/* ---- watching */

/* The rest of the countdown becomes part of the distance from its end to the sampling point. */
void mp_sampled_watch_next(void)
{
    struct mp_thread *const t = mp_self;
    if (t && t->number && t->draws) t->due += countdown();
    mp_sampled_left = 0;
}

void mp_sampled_watch(void *p)
{
    if (mp_sampled.live) mp_addresses_suspect(mp_sampled.live, p, true);
}

void mp_sampled_unwatch(void *p)
{
    if (mp_sampled.live) mp_addresses_suspect(mp_sampled.live, p, false);
}
