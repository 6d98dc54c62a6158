#include "survivors.h"

#include <stdlib.h>

#include "alloc.h"
#include "alloc_context.h"
#include "index.h"

static void see(void *arg, const struct mpr_replay *r, const struct mpr_thread *t,
                const struct mpf_event *e)
{
    (void)t;
    if (e->op == MPF_OP_PUSH) ((struct mpr_survivors *)arg)->pushed_ns = r->now;
}

void mpr_survivors_begin(struct mpr_survivors *s, struct mpr_replay *r)
{
    *s = (struct mpr_survivors){ .replay = r, .host.least = MPR_SURVIVORS_BYTES };
    r->accounts.survivors = s;
    mpr_watch_begin(r, (struct mpr_watch){ see, s });
}

void mpr_survivors_free(struct mpr_survivors *s)
{
    free(s->followed);
    free(s->place);
    free(s->of_cell);
    mpr_index_free(&s->number);
}

/* ---- places */

static uint32_t find_place(struct mpr_survivors *s, const struct mpr_cell *cell)
{
    const uint32_t node = s->replay->options.by == MPR_GROUP_ALL
                              ? mpr_composite_key_unpack(cell->key).node
                              : (uint32_t)cell->key;
    const uint64_t hash = mpr_hash((uint64_t)cell->site << 32 | node) + cell->heap;
    MPR_INDEX_EACH(found, &s->number, hash) {
        const struct mpr_survivors_place *place = &s->place[found - 1];
        if (place->node == node && place->site == cell->site && place->heap == cell->heap)
            return found - 1;
    }
    MPR_GROW(s->place, s->places, s->place_cap);
    s->place[s->places] =
        (struct mpr_survivors_place){ .node = node, .site = cell->site, .heap = cell->heap };
    mpr_index_add(&s->number, hash, ++s->places);
    return s->places - 1;
}

static uint32_t place_of(struct mpr_survivors *s, uint32_t cell)
{
    MPR_REACH(s->of_cell, cell, s->cells);
    if (!s->of_cell[cell]) s->of_cell[cell] = find_place(s, &s->replay->accounts.cell[cell]) + 1;
    return s->of_cell[cell] - 1;
}

/* ---- live bytes before each allocation */

static struct mpr_survivor_time now(const struct mpr_survivors *s)
{
    return (struct mpr_survivor_time){ s->replay->now, s->made };
}

static struct mpr_survivor *follow(struct mpr_survivors *s, uint32_t number, uint64_t bytes)
{
    struct mpr_survivors_place *place = &s->place[number];
    const uint64_t all = place->bytes + bytes;
    if (s->count == MPR_SURVIVORS_MAX || all < MPR_SURVIVORS_BYTES ||
        all < s->replay->accounts.heap[place->heap].peak_bytes / MPR_SURVIVORS_SHARE)
        return NULL;
    MPR_GROW(s->followed, s->count, s->cap);
    s->followed[s->count] = (struct mpr_survivor){ .place = number, .each = 1, .first = now(s) };
    place->followed = ++s->count;
    return &s->followed[s->count - 1];
}

static void note(struct mpr_survivor *f, uint64_t live, uint64_t bytes, struct mpr_survivor_time at)
{
    if (!f->in_last && f->points == MPR_SURVIVORS_POINTS) { /* neighbouring spans are joined */
        for (uint32_t i = 0; i < MPR_SURVIVORS_POINTS / 2; i++) {
            const uint64_t left = f->point[2 * i].low, right = f->point[2 * i + 1].low;
            f->point[i].low = left < right ? left : right;
            f->point[i].last = f->point[2 * i + 1].last;
        }
        f->points = MPR_SURVIVORS_POINTS / 2;
        f->each *= 2;
    }
    if (!f->in_last || live < f->point[f->points].low) f->point[f->points].low = live;
    f->point[f->points].last = f->last = at;
    f->kept = live + bytes;
    f->freed_ns = UINT64_MAX;
    if (++f->in_last < f->each) return;
    f->points++;
    f->in_last = 0;
}

/* ---- pulses */

static void end_pulse(struct mpr_pulses *p)
{
    const uint64_t bytes = p->high - p->base;
    p->falls = true;
    if (p->added - p->begin > p->longest) p->longest = p->added - p->begin;
    if (bytes < p->least) return;
    if (bytes > p->largest) {
        p->second = p->largest;
        p->largest = bytes;
        p->top = p->high;
        p->before = p->count;
        p->all_before = p->all;
    } else if (bytes > p->second) p->second = bytes;
    p->all += bytes;
    p->count++;
}

/* @live: after a change. */
static void look_for_pulse(struct mpr_pulses *p, uint64_t live)
{
    if (!p->falls) {
        if (live > p->high) p->high = live;
        if (live < p->lowest) p->lowest = live;
        if (live > p->base && live - p->base > (p->high - p->base) / 2) return;
        end_pulse(p);
        p->low = live;
        p->low_at = p->added;
    } else if (live < p->low) {
        p->low = live;
        p->low_at = p->added;
    } else if (p->least ? live - p->low >= p->least : live > 2 * p->low) {
        if (p->low > p->floor) p->floor = p->low;
        p->falls = false;
        p->base = p->least ? p->low : 0;
        p->high = p->lowest = live;
        p->mark = p->added;
        p->begin = p->least ? p->low_at : p->added;
    }
}

/* Ends a pulse that has become a level: most of its bytes stayed while the program allocated half
 * as often as in the rise. */
static void look_for_level(struct mpr_pulses *p, uint64_t live)
{
    enum { FEW = 64 };
    if (p->falls || p->added - p->mark < FEW + (p->mark - p->begin) / 2) return;
    if (p->lowest > p->base && p->lowest - p->base >= (p->high - p->base) / 4 * 3) {
        p->falls = true;
        p->low = p->lowest;
        p->low_at = p->added;
        return;
    }
    p->mark = p->added;
    p->lowest = live;
}

/* A realloc removes a block and adds the new one in one event. */
static bool is_realloc(const struct mpr_pulses *p, uint64_t now)
{
    return p->dropped && p->dropped_ns == now;
}

/* @live: before the blocks are added. */
static void add_to_pulse(struct mpr_pulses *p, uint64_t live, uint64_t bytes, uint64_t now)
{
    if (p->dropped && !is_realloc(p, now)) look_for_pulse(p, live);
    p->dropped = false;
    look_for_pulse(p, live + bytes);
    p->added++;
    if (p->least) look_for_level(p, live + bytes);
}

/* @live: before the blocks are removed. */
static void remove_from_pulse(struct mpr_pulses *p, uint64_t live, uint64_t now)
{
    if (p->dropped) look_for_pulse(p, live);
    p->dropped = true;
    p->dropped_ns = now;
}

static void settle_pulse(struct mpr_pulses *p, uint64_t live)
{
    if (p->dropped) look_for_pulse(p, live);
    p->dropped = false;
}

static uint64_t host_bytes(const struct mpr_survivors *s)
{
    return s->replay->accounts.heap[MPF_HEAP_HOST].bytes;
}

void mpr_survivors_add(struct mpr_survivors *s, uint32_t cell, uint64_t bytes)
{
    const uint32_t number = place_of(s, cell);
    struct mpr_survivors_place *place = &s->place[number];
    struct mpr_survivor *f =
        place->followed ? &s->followed[place->followed - 1] : follow(s, number, bytes);
    const uint64_t ns = s->replay->now;
    if (place->heap == MPF_HEAP_HOST) add_to_pulse(&s->host, host_bytes(s), bytes, ns);
    s->last_ns[place->heap] = ns;
    s->made += mpf_heap_is_gpu(place->heap) || place->heap == MPF_HEAP_PINNED;
    place->allocations++;
    if (f && !is_realloc(&f->use, ns)) note(f, place->bytes, bytes, now(s));
    if (f) add_to_pulse(&f->use, place->bytes, bytes, ns);
    place->bytes += bytes;
}

void mpr_survivors_remove(struct mpr_survivors *s, uint32_t cell, uint64_t bytes)
{
    struct mpr_survivors_place *place = &s->place[place_of(s, cell)];
    struct mpr_survivor *f = place->followed ? &s->followed[place->followed - 1] : NULL;
    if (place->heap == MPF_HEAP_HOST) remove_from_pulse(&s->host, host_bytes(s), s->replay->now);
    if (f) remove_from_pulse(&f->use, place->bytes, s->replay->now);
    place->bytes -= bytes;
    if (f && f->freed_ns == UINT64_MAX && place->bytes < f->kept / 3 * 2)
        f->freed_ns = s->replay->now;
}

void mpr_survivors_settle(struct mpr_survivors *s)
{
    for (uint32_t i = 0; i < s->count; i++)
        settle_pulse(&s->followed[i].use, s->place[s->followed[i].place].bytes);
    settle_pulse(&s->host, host_bytes(s));
    for (uint32_t i = 0; i < s->places; i++) s->place[i].at_peak = 0;
    for (uint32_t i = 0; i < s->cells; i++)
        if (s->of_cell[i])
            s->place[s->of_cell[i] - 1].at_peak +=
                mpr_accounts_at_peak(&s->replay->accounts, &s->replay->accounts.cell[i]).bytes;
}
