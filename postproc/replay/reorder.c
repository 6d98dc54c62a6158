#include "reorder.h"

#include <string.h>

#include "blocks.h"

/* ---- the newest events */

static size_t min(size_t a, size_t b) { return a < b ? a : b; }

/* Copies at most two pieces, because this runs for each batch of every log. */
void mpr_recent_events_keep(struct mpr_recent_events *r, size_t count)
{
    const size_t kept = min(count, MPR_RECENT_EVENTS), at = r->count % MPR_RECENT_EVENTS;
    const size_t first = min(kept, MPR_RECENT_EVENTS - at);
    const struct mpf_event *from = r->batch + count - kept;
    memcpy(r->before + at, from, first * sizeof *from);
    memcpy(r->before, from + first, (kept - first) * sizeof *from);
    r->count += kept;
}

/* Returns the n-th event before r->at, from 1 on, or NULL if it is no longer known. */
static const struct mpf_event *earlier_event(const struct mpr_recent_events *r, uint32_t n)
{
    const uint64_t in_batch = (uint64_t)(r->at - r->batch);
    if (n > MPR_RECENT_EVENTS || n > in_batch + r->count) return NULL;
    if (n <= in_batch) return r->at - n;
    return &r->before[(r->count - (n - in_batch)) % MPR_RECENT_EVENTS];
}

/* ---- events that wait */

static struct mpr_early_event *early_event(struct mpr_reorder *r, uint32_t n)
{
    return &r->at[(r->first + n) % MPR_REORDER_MAX];
}

void mpr_reorder_wait(struct mpr_reorder *r, uint64_t key, uint64_t time, uint32_t thread,
                      enum mpr_awaited kind)
{
    *early_event(r, r->count++) = (struct mpr_early_event){ key, time, thread, (uint8_t)kind, 0 };
}

void mpr_reorder_set_bytes(struct mpr_reorder *r, uint64_t bytes)
{
    early_event(r, r->count - 1)->bytes = bytes;
}

static struct mpr_early_event *oldest(struct mpr_reorder *r, uint64_t key, enum mpr_awaited kind,
                                      uint32_t not_thread)
{
    for (uint32_t i = 0; i < r->count; i++) {
        struct mpr_early_event *early = early_event(r, i);
        if (early->key == key && early->kind == kind &&
            !(not_thread && early->thread == not_thread))
            return early;
    }
    return NULL;
}

bool mpr_reorder_match(struct mpr_reorder *r, uint64_t key, enum mpr_awaited kind,
                       uint32_t not_thread)
{
    struct mpr_early_event *early = oldest(r, key, kind, not_thread);
    if (early) early->kind = 0;
    return early;
}

/* Returns by how much the event changes the number of blocks at `key`. */
static int change_of_blocks(const struct mpf_event *e, uint64_t key)
{
    const uint8_t heap = e->heap == MPF_HEAP_PART ? MPF_HEAP_HOST : e->heap;
    if (!mpf_op_is_of_block(e->op) || mpr_block_key(e->addr, heap) != key) return 0;
    return e->op == MPF_OP_ALLOC || e->op == MPF_OP_MOVE_END ? 1 : -1;
}

/* Returns true if two frees changed places (reorder.h).  Looks back from the current allocation to
 * the waiting free, and from there to another thread's free of the block before. */
static bool frees_are_swapped(const struct mpr_reorder *r, const struct mpr_early_event *waiting)
{
    const struct mpf_event *alloc = r->recent.at, *e;
    bool found = false;
    int blocks = 0;
    for (uint32_t n = 1; blocks <= 0 && (e = earlier_event(&r->recent, n)); n++) {
        const int by = change_of_blocks(e, waiting->key);
        if (alloc->time - e->time > MPR_REORDER_NS) return false;
        if (found && by < 0 && e->thread != alloc->thread) return true;
        if (found) blocks -= by;
        else found = by < 0 && e->time == waiting->time && e->thread == waiting->thread;
    }
    return false;
}

bool mpr_reorder_take_free(struct mpr_reorder *r, uint64_t key, uint32_t thread)
{
    if (mpr_reorder_match(r, key, MPR_AWAITS_ALLOC, thread)) return true;
    struct mpr_early_event *waiting = oldest(r, key, MPR_AWAITS_ALLOC, 0);
    if (!waiting || !frees_are_swapped(r, waiting)) return false;
    waiting->kind = 0;
    return true;
}

bool mpr_reorder_expire(struct mpr_reorder *r, uint64_t now, struct mpr_early_event *out)
{
    while (r->count) {
        const struct mpr_early_event *first = early_event(r, 0);
        if (first->kind && now - first->time <= MPR_REORDER_NS && r->count < MPR_REORDER_MAX)
            return false;
        *out = *first;
        r->first = (r->first + 1) % MPR_REORDER_MAX;
        r->count--;
        if (out->kind) return true;
    }
    return false;
}
