#include "survivors.h"

#include <stdlib.h>

#include "alloc.h"
#include "alloc_context.h"
#include "index.h"

static void on_event(void *arg, const struct mpr_replay *r, const struct mpr_thread *t,
                     const struct mpf_event *e)
{
    (void)t;
    if (e->op == MPF_OP_PUSH) ((struct mpr_survivors *)arg)->pushed_ns = r->now;
}

void mpr_survivors_begin(struct mpr_survivors *s, struct mpr_replay *r)
{
    *s = (struct mpr_survivors){ .replay = r, .host.min_bytes = MPR_SURVIVORS_BYTES };
    r->accounts.survivors = s;
    mpr_watch_begin(r, (struct mpr_watch){ on_event, s });
}

void mpr_survivors_free(struct mpr_survivors *s)
{
    free(s->followed);
    free(s->place);
    free(s->of_cell);
    mpr_index_free(&s->number);
}

/* ---- places */

/* Returns the number of the place of a cell, from 1. */
static uint32_t find_place(struct mpr_survivors *s, const struct mpr_cell *cell)
{
    const uint32_t node = s->replay->options.by == MPR_GROUP_ALL
                              ? mpr_composite_key_unpack(cell->key).node
                              : (uint32_t)cell->key;
    const uint64_t hash = mpr_hash((uint64_t)cell->site << 32 | node) + cell->heap;
    MPR_INDEX_EACH(number, &s->number, hash) {
        const struct mpr_survivors_place *place = &s->place[number - 1];
        if (place->node == node && place->site == cell->site && place->heap == cell->heap)
            return number;
    }
    *MPR_ADD(s->place, s->places, s->place_cap) =
        (struct mpr_survivors_place){ .node = node, .site = cell->site, .heap = cell->heap };
    mpr_index_add(&s->number, hash, s->places);
    return s->places;
}

/* Returns the place of a cell.  *f: its measurements, or NULL if it is not followed */
static struct mpr_survivors_place *place_of(struct mpr_survivors *s, uint32_t cell,
                                            struct mpr_survivor **f)
{
    MPR_REACH(s->of_cell, cell, s->cells);
    uint32_t *number = &s->of_cell[cell];
    if (!*number) *number = find_place(s, &s->replay->accounts.cell[cell]);
    struct mpr_survivors_place *place = &s->place[*number - 1];
    *f = place->followed ? &s->followed[place->followed - 1] : NULL;
    return place;
}

/* ---- live bytes before each allocation */

static struct mpr_survivor_time now(const struct mpr_survivors *s)
{
    return (struct mpr_survivor_time){ s->replay->now, s->device_allocs };
}

/* Begins to follow a place that becomes large with an allocation of @bytes.  Returns NULL if it is
 * too small, or too many places are followed. */
static struct mpr_survivor *follow(struct mpr_survivors *s, struct mpr_survivors_place *place,
                                   uint64_t bytes)
{
    const uint64_t live = place->bytes + bytes;
    if (s->count == MPR_SURVIVORS_MAX || live < MPR_SURVIVORS_BYTES ||
        live < s->replay->accounts.heap[place->heap].peak_bytes / MPR_SURVIVORS_SHARE)
        return NULL;
    struct mpr_survivor *f = MPR_ADD(s->followed, s->count, s->cap);
    *f = (struct mpr_survivor){ .place = (uint32_t)(place - s->place), .each = 1, .first = now(s) };
    place->followed = s->count;
    return f;
}

/* Adds an allocation to a place that had @live bytes before it. */
static void add_allocation(struct mpr_survivor *f, uint64_t live, uint64_t bytes,
                           struct mpr_survivor_time at)
{
    if (!f->last_allocations && f->points == MPR_SURVIVORS_POINTS) { /* neighbouring spans are
                                                                        joined */
        for (uint32_t i = 0; i < MPR_SURVIVORS_POINTS / 2; i++) {
            const uint64_t left = f->point[2 * i].low, right = f->point[2 * i + 1].low;
            f->point[i].low = left < right ? left : right;
            f->point[i].last = f->point[2 * i + 1].last;
        }
        f->points = MPR_SURVIVORS_POINTS / 2;
        f->each *= 2;
    }
    if (!f->last_allocations || live < f->point[f->points].low) f->point[f->points].low = live;
    f->point[f->points].last = f->last = at;
    f->kept = live + bytes;
    f->freed_ns = UINT64_MAX;
    if (++f->last_allocations < f->each) return;
    f->points++;
    f->last_allocations = 0;
}

/* ---- pulses */

static void end_pulse(struct mpr_pulses *p)
{
    const uint64_t bytes = p->high - p->base;
    p->over = true;
    if (p->added - p->begin > p->longest) p->longest = p->added - p->begin;
    if (bytes < p->min_bytes) return;
    if (bytes > p->largest) {
        p->second = p->largest;
        p->largest = bytes;
        p->top = p->high;
        p->before = p->count;
        p->sum_before = p->sum;
    } else if (bytes > p->second) p->second = bytes;
    p->sum += bytes;
    p->count++;
}

/* Ends or begins a pulse, if the live bytes after a change require that. */
static void update_pulse(struct mpr_pulses *p, uint64_t live)
{
    if (!p->over) {
        if (live > p->high) p->high = live;
        if (live < p->lowest) p->lowest = live;
        if (live > p->base && live - p->base > (p->high - p->base) / 2) return;
        end_pulse(p);
        p->low = live;
        p->low_at = p->added;
    } else if (live < p->low) {
        p->low = live;
        p->low_at = p->added;
    } else if (p->min_bytes ? live - p->low >= p->min_bytes : live > 2 * p->low) {
        if (p->low > p->floor) p->floor = p->low;
        p->over = false;
        p->base = p->min_bytes ? p->low : 0;
        p->high = p->lowest = live;
        p->mark = p->added;
        p->begin = p->min_bytes ? p->low_at : p->added;
    }
}

/* Ends a pulse whose bytes have become the base: most of them stayed while the program made half as
 * many allocations as in the rise. */
static void update_base(struct mpr_pulses *p, uint64_t live)
{
    enum { MIN_ALLOCATIONS = 64 };
    if (p->over || p->added - p->mark < MIN_ALLOCATIONS + (p->mark - p->begin) / 2) return;
    if (p->lowest > p->base && p->lowest - p->base >= (p->high - p->base) / 4 * 3) {
        p->over = true;
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
    return p->removed && p->removed_ns == now;
}

/* @live: before the blocks are added. */
static void add_to_pulse(struct mpr_pulses *p, uint64_t live, uint64_t bytes, uint64_t now)
{
    if (p->removed && !is_realloc(p, now)) update_pulse(p, live);
    p->removed = false;
    update_pulse(p, live + bytes);
    p->added++;
    if (p->min_bytes) update_base(p, live + bytes);
}

/* @live: before the blocks are removed. */
static void remove_from_pulse(struct mpr_pulses *p, uint64_t live, uint64_t now)
{
    if (p->removed) update_pulse(p, live);
    p->removed = true;
    p->removed_ns = now;
}

static void finish_pulse(struct mpr_pulses *p, uint64_t live)
{
    if (p->removed) update_pulse(p, live);
    p->removed = false;
}

static uint64_t host_bytes(const struct mpr_survivors *s)
{
    return s->replay->accounts.heap[MPF_HEAP_HOST].bytes;
}

void mpr_survivors_add(struct mpr_survivors *s, uint32_t cell, uint64_t bytes)
{
    struct mpr_survivor *f;
    struct mpr_survivors_place *place = place_of(s, cell, &f);
    const uint64_t ns = s->replay->now;
    if (!f) f = follow(s, place, bytes);
    if (place->heap == MPF_HEAP_HOST) add_to_pulse(&s->host, host_bytes(s), bytes, ns);
    s->last_ns[place->heap] = ns;
    s->device_allocs += mpf_heap_is_gpu(place->heap) || place->heap == MPF_HEAP_PINNED;
    place->allocations++;
    if (f && !is_realloc(&f->use, ns)) add_allocation(f, place->bytes, bytes, now(s));
    if (f) add_to_pulse(&f->use, place->bytes, bytes, ns);
    place->bytes += bytes;
}

void mpr_survivors_remove(struct mpr_survivors *s, uint32_t cell, uint64_t bytes)
{
    struct mpr_survivor *f;
    struct mpr_survivors_place *place = place_of(s, cell, &f);
    if (place->heap == MPF_HEAP_HOST) remove_from_pulse(&s->host, host_bytes(s), s->replay->now);
    if (f) remove_from_pulse(&f->use, place->bytes, s->replay->now);
    place->bytes -= bytes;
    if (f && f->freed_ns == UINT64_MAX && place->bytes < f->kept / 3 * 2)
        f->freed_ns = s->replay->now;
}

void mpr_survivors_finish(struct mpr_survivors *s)
{
    for (uint32_t i = 0; i < s->count; i++)
        finish_pulse(&s->followed[i].use, s->place[s->followed[i].place].bytes);
    finish_pulse(&s->host, host_bytes(s));
    for (uint32_t i = 0; i < s->places; i++) s->place[i].at_peak = 0;
    for (uint32_t i = 0; i < s->cells; i++)
        if (s->of_cell[i])
            s->place[s->of_cell[i] - 1].at_peak +=
                mpr_accounts_at_peak(&s->replay->accounts, &s->replay->accounts.cell[i]).bytes;
}
