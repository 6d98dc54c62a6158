#include "repairs.h"

#include <stddef.h>

#include "blocks.h"

static struct mpr_repair *nth(struct mpr_repairs *r, uint32_t n)
{
    return &r->at[(r->first + n) % MPR_REPAIRS_MAX];
}

void mpr_repairs_wait(struct mpr_repairs *r, const struct mpr_repair *repair)
{
    *nth(r, r->count++) = *repair;
}

static struct mpr_repair *oldest(struct mpr_repairs *r, uint64_t key, enum mpr_waiting kind,
                                 uint32_t not_thread)
{
    for (uint32_t i = 0; i < r->count; i++) {
        struct mpr_repair *repair = nth(r, i);
        if (repair->key == key && repair->kind == kind &&
            !(not_thread && repair->thread == not_thread))
            return repair;
    }
    return NULL;
}

bool mpr_repairs_match(struct mpr_repairs *r, uint64_t key, enum mpr_waiting kind,
                       uint32_t not_thread)
{
    struct mpr_repair *repair = oldest(r, key, kind, not_thread);
    if (repair) repair->kind = 0;
    return repair;
}

/* What the event does to the number of blocks at `key`. */
static int change(const struct mpf_event *e, uint64_t key)
{
    const uint8_t heap = e->heap == MPF_HEAP_PART ? MPF_HEAP_HOST : e->heap;
    if (!mpf_op_is_of_block(e->op) || mpr_block_key(e->addr, heap) != key) return 0;
    return e->op == MPF_OP_ALLOC || e->op == MPF_OP_MOVE_END ? 1 : -1;
}

static bool is_it(const struct mpr_repair *waiting, const struct mpf_event *e)
{
    return e->time == waiting->time && e->thread == waiting->thread;
}

/* Back from recent.at to the free that waits, and on to one of another thread that takes the last
 * block: its allocation is on the other side of it. */
static bool is_behind_anothers(const struct mpr_repairs *r, const struct mpr_repair *waiting)
{
    const struct mpf_event *alloc = r->recent.at, *e;
    bool found = false;
    int blocks = 0;
    for (uint32_t n = 1; blocks <= 0 && (e = mpr_recent_back(&r->recent, n)); n++) {
        const int by = change(e, waiting->key);
        if (alloc->time - e->time > MPR_REPAIR_NS) return false;
        if (found && by < 0 && e->thread != alloc->thread) return true;
        if (found) blocks -= by;
        else found = by < 0 && is_it(waiting, e);
    }
    return false;
}

bool mpr_repairs_swap(struct mpr_repairs *r, uint64_t key)
{
    struct mpr_repair *waiting = oldest(r, key, MPR_WAIT_ALLOC, 0);
    if (!waiting || !is_behind_anothers(r, waiting)) return false;
    waiting->kind = 0;
    return true;
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
