#include "history.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "mpf/event.h"

/* ---- values */

/* host/python has nothing but samples. */
static bool has_estimates(const struct mpr_replay *r, uint8_t heap)
{
    return heap == MPF_HEAP_PYTHON || mpr_replay_weighs(r, heap);
}

static uint64_t plus(uint64_t value, double more)
{
    if (more == 0) return value;
    const double sum = (double)value + more;
    if (sum >= 0x1p64) return UINT64_MAX;
    return sum > 0 ? (uint64_t)(sum + 0.5) : 0;
}

static struct mpr_more less(struct mpr_more a, struct mpr_more b)
{
    return (struct mpr_more){ mpr_minus(a.bytes, b.bytes), a.blocks - b.blocks };
}

/* What the samples of a heap stand for lies in one of its cells, which is as uncertain as all the
 * others are together. */
static struct mpr_sampled rest_of(const struct mpr_sampled *own, const struct mpr_sampled *all)
{
    return (struct mpr_sampled){ .more = less(own->more, all->more),
                                 .came = all->came - own->came,
                                 .went = all->went - own->went };
}

static struct mpr_history_point point_of(const struct mpr_history *h, uint32_t index)
{
    const struct mpr_cell *cell = &h->replay->books.cell[index];
    const bool rest = h->rest[cell->heap] == index + 1;
    const struct mpr_sampled *own = &h->past[index].sampled;
    return (struct mpr_history_point){ cell->bytes, cell->blocks,
                                       rest ? rest_of(own, &h->all[cell->heap]) : *own,
                                       (uint32_t)h->count };
}

static struct mpr_history_value value_of(const struct mpr_history_point *p,
                                         struct mpr_within within)
{
    const struct mpr_sampled *s = &p->sampled;
    return (struct mpr_history_value){ plus(p->bytes, (double)s->more.bytes * within.bytes),
                                       plus(p->blocks, s->more.blocks * within.blocks),
                                       s->came,
                                       s->went,
                                       s->samples,
                                       s->live };
}

static double factor(uint64_t known, double estimated)
{
    return estimated > (double)known ? (double)known / estimated : 1;
}

/* Whom samples stand for lies in one cell; host/python has none. */
static struct mpr_within within_of(const struct mpr_history *h, uint8_t heap)
{
    static const struct mpr_cell nobody = { .bytes = 0 };
    const uint32_t rest = h->rest[heap];
    const struct mpr_cell *cell = rest ? &h->replay->books.cell[rest - 1] : &nobody;
    const struct mpr_more *more = &h->all[heap].more;
    if (heap == MPF_HEAP_PYTHON) return (struct mpr_within){ 1, 1 };
    return (struct mpr_within){ factor(cell->bytes, (double)more->bytes),
                                factor(cell->blocks, more->blocks) };
}

/* Of host/python the books have the bytes that its samples stand for, but not the blocks. */
static struct mpr_history_value heap_value(const struct mpr_history *h, uint8_t code)
{
    const struct mpr_heap *heap = &h->replay->books.heap[code];
    const struct mpr_sampled *all = &h->all[code];
    if (code != MPF_HEAP_PYTHON)
        return (struct mpr_history_value){ .bytes = heap->bytes, .blocks = heap->blocks };
    return (struct mpr_history_value){ heap->bytes,  plus(heap->blocks, all->more.blocks),
                                       all->came,    all->went,
                                       all->samples, all->live };
}

/* Before values are asked for: the sums of what sampled blocks stand for. */
static void estimate(struct mpr_history *h, uint32_t index)
{
    const struct mpr_replay *r = h->replay;
    const struct mpr_cell *cell = &r->books.cell[index];
    struct mpr_sampled *all = &h->all[cell->heap], *past = &h->past[index].sampled;
    if (!has_estimates(r, cell->heap)) return;
    if (mpr_replay_is_rest(r, cell)) h->rest[cell->heap] = index + 1;
    if (index >= r->estimates.cells) return;
    const struct mpr_estimate *now = &r->estimates.cell[index];
    all->more.bytes = mpr_plus(all->more.bytes, mpr_minus(now->now.bytes, past->more.bytes));
    all->more.blocks += now->now.blocks - past->more.blocks;
    all->came += now->came - past->came;
    all->went += now->went - past->went;
    all->samples += now->samples - past->samples;
    all->live += now->live - past->live;
    *past = (struct mpr_sampled){ now->now, now->came, now->went, now->samples, now->live };
    h->sampled[cell->heap] |= now->samples != 0;
}

bool mpr_history_is_estimate(const struct mpr_history *h, uint32_t cell)
{
    const struct mpr_replay *r = h->replay;
    const uint8_t heap = r->books.cell[cell].heap;
    if (h->rest[heap] == cell + 1) return h->sampled[heap];
    return has_estimates(r, heap) && cell < r->estimates.cells && r->estimates.cell[cell].samples;
}

static void add_point(struct mpr_history *h, uint32_t index)
{
    struct mpr_history_past *past = &h->past[index];
    MPR_GROW(past->point, past->points, past->cap);
    past->point[past->points++] = point_of(h, index);
}

/* ---- instants */

/* The later one of each two stays. */
static void thin(struct mpr_history *h)
{
    h->count /= 2;
    h->each *= 2;
    for (size_t i = 0; i < h->count; i++) h->at[i] = h->at[2 * i + 1];
    for (uint32_t c = 0; c < h->cells; c++) {
        struct mpr_history_past *past = &h->past[c];
        uint32_t points = 0;
        for (uint32_t i = 0; i < past->points; i++) {
            const uint32_t at = past->point[i].at / 2;
            if (!points || past->point[points - 1].at != at) points++;
            past->point[points - 1] = past->point[i];
            past->point[points - 1].at = at;
        }
        past->points = points;
    }
}

static void forget_touches(struct mpr_touches *t)
{
    for (uint32_t i = 0; i < t->count; i++) t->is_touched[t->cell[i]] = false;
    t->count = 0;
}

/* That cell changes with every estimate. */
static void touch_rests(struct mpr_history *h)
{
    struct mpr_touches *t = &h->touches;
    for (int heap = 0; heap < MPR_HEAPS; heap++) {
        const uint32_t index = h->rest[heap] - 1;
        if (!h->rest[heap] || t->is_touched[index]) continue;
        t->is_touched[index] = true;
        MPR_GROW(t->cell, t->count, t->cap);
        t->cell[t->count++] = index;
    }
}

void mpr_history_take(struct mpr_history *h, uint64_t time)
{
    struct mpr_touches *t = &h->touches;
    if (h->from && time < *h->from) return;
    h->taken++;
    if (h->count == MPR_HISTORY_MAX) thin(h);
    if (h->taken % h->each) return;
    if (h->replay->books.cells) MPR_REACH(h->past, h->replay->books.cells - 1, h->cells);
    for (uint32_t i = 0; i < t->count; i++) estimate(h, t->cell[i]);
    touch_rests(h);
    for (uint32_t i = 0; i < t->count; i++) add_point(h, t->cell[i]);
    for (int i = 0; i < MPR_HEAPS; i++) {
        h->at[h->count].heap[i] = heap_value(h, (uint8_t)i);
        h->at[h->count].within[i] = within_of(h, (uint8_t)i);
    }
    forget_touches(t);
    mpr_lasting_mark(&h->lasting);
    h->at[h->count].time = time;
    h->at[h->count++].number = h->taken;
}

void mpr_history_values(const struct mpr_history *h, uint32_t cell, struct mpr_history_value *value)
{
    const struct mpr_history_past none = { .points = 0 };
    const struct mpr_history_past *past = cell < h->cells ? &h->past[cell] : &none;
    const uint8_t heap = h->replay->books.cell[cell].heap;
    struct mpr_history_point now = { .bytes = 0 };
    uint32_t next = 0;
    bool alone = true;
    for (size_t i = 0; i < h->count; i++) {
        if (next < past->points && past->point[next].at == i) now = past->point[next++];
        value[i] = value_of(&now, h->at[i].within[heap]);
        alone &= now.blocks == now.sampled.live;
    }
    for (size_t i = 0; !alone && i < h->count; i++) value[i].samples = value[i].live = 0;
}

/* ---- by the clock */

/* So many instants without a change between them, the first one at that time.  Those in a row of
 * which none is kept count at once: of a short interval there may be any number. */
static void take_ticks(struct mpr_history *h, uint64_t time, uint64_t ticks)
{
    while (ticks) {
        uint64_t passed = h->each - 1 - h->taken % h->each;
        if (passed >= ticks) passed = ticks - 1;
        h->taken += passed;
        ticks -= passed + 1;
        time += passed * h->every;
        mpr_history_take(h, time);
        time += h->every;
    }
}

/* Up to now.  Where nothing happened for longer than an interval all stayed as it was: each tick of
 * that time is an instant, or a program that loads and then waits would only be seen to load. */
static void tick(void *arg)
{
    struct mpr_history *h = arg;
    struct mpr_touches *t = &h->touches;
    const bool is_past = *t->now > h->until;
    const uint64_t now = is_past ? h->until : *t->now, last = now - now % h->every,
                   from = h->from ? *h->from : 0;
    if (t->next <= last && from <= last) {
        const uint64_t first =
            from > t->next ? last - (last - from) / h->every * h->every : t->next;
        take_ticks(h, first, (last - first) / h->every + 1);
    }
    t->next = !is_past && last <= UINT64_MAX - h->every ? last + h->every : UINT64_MAX;
}

void mpr_history_end(struct mpr_history *h)
{
    if (h->every) mpr_touches_tick(&h->touches);
}

void mpr_history_begin(struct mpr_history *h, struct mpr_replay *r, uint64_t every, uint64_t until)
{
    *h = (struct mpr_history){ .replay = r, .each = 1, .every = every, .until = until };
    h->touches = (struct mpr_touches){
        .now = &r->now, .next = every ? every : UINT64_MAX, .tick = tick, .arg = h
    };
    r->books.touches = &h->touches;
    r->lasting = &h->lasting;
}

void mpr_history_free(struct mpr_history *h)
{
    for (uint32_t i = 0; i < h->cells; i++) free(h->past[i].point);
    free(h->past);
    free(h->touches.cell);
    free(h->touches.is_touched);
    mpr_lasting_free(&h->lasting);
    *h = (struct mpr_history){ .count = 0 };
}
