#include "totals.h"

#include <math.h>
#include <string.h>

#include "amount.h"

/* No heap is larger, whatever a log says. */
#define LIVE_MAX ((uint64_t)1 << 60)

/* A forked child may have freed more than it made: blocks of its parent. */
static uint64_t live_of(uint64_t made, uint64_t freed)
{
    const uint64_t live = mpr_less(made, freed);
    return live < LIVE_MAX ? live : LIVE_MAX;
}

static uint64_t counted(const struct mpr_totals *t, unsigned made)
{
    return live_of(t->value[made], t->value[made + 2]);
}
_Static_assert(MPF_HOST_FREED_BYTES == MPF_HOST_MADE_BYTES + 2 &&
                   MPF_HOST_FREED_BLOCKS == MPF_HOST_MADE_BLOCKS + 2,
               "what was freed follows what was made");

/* In one change, so that a peak is one of both. */
static void change(struct mpr_totals *t, struct mpr_books *books, uint64_t bytes, uint64_t blocks,
                   uint64_t time)
{
    const uint64_t came = blocks - t->live_blocks; /* modulo 2^64 */
    if (bytes >= t->live) mpr_books_add_many(books, t->cell, bytes - t->live, came, time);
    else mpr_books_remove_many(books, t->cell, t->live - bytes, 0 - came);
    t->live = bytes;
    t->live_blocks = blocks;
}

/* Six standard errors: of all instants of a long log hardly one is so by chance.  What was so once
 * counts as long as it is more than three: near the limit the sum would else go to and fro by all
 * of it. */
static bool is_certain(const struct mpr_since *s)
{
    return fabs(s->bytes) > (s->counts ? 3 : 6) * sqrt(fmax(0, s->variance));
}

static void forget(struct mpr_since *s)
{
    mpr_index_free(&s->came);
    *s = (struct mpr_since){ 0 };
}

/* What came and went since cancels out. */
static void vary(struct mpr_since *s, int sign, uint64_t key, double variance)
{
    const bool is_new = sign > 0 || mpr_index_get(&s->came, key);
    if (is_new) mpr_index_set(&s->came, key, sign > 0);
    s->variance += sign < 0 && is_new ? -variance : variance;
}

static uint64_t with(uint64_t counted, double more)
{
    if (more < 0) return mpr_less(counted, (uint64_t)fmin(-more, (double)LIVE_MAX));
    return counted + (uint64_t)fmin(more, (double)LIVE_MAX);
}

void mpr_totals_sampled(struct mpr_totals *t, struct mpr_books *books, int sign, uint64_t key,
                        const struct mpr_weight *more, uint64_t time)
{
    struct mpr_since *s = &t->since;
    if (!t->told) return;
    s->bytes += sign * more->bytes;
    s->blocks += sign * more->blocks;
    if (sign > 0) s->made += more->blocks;
    vary(s, sign, key, more->variance);
    s->counts = is_certain(s);
    const uint64_t bytes = counted(t, MPF_HOST_MADE_BYTES),
                   blocks = counted(t, MPF_HOST_MADE_BLOCKS);
    if (s->counts) change(t, books, with(bytes, s->bytes), with(blocks, s->blocks), time);
    else if (t->live != bytes) change(t, books, bytes, blocks, time);
}

static void made(struct mpr_totals *t, struct mpr_books *books, uint64_t bytes, uint64_t blocks)
{
    books->heap[MPF_HEAP_HOST].made_bytes += bytes;
    books->heap[MPF_HEAP_HOST].allocations += blocks;
    books->cell[t->cell].allocations += blocks;
}

void mpr_totals_take(struct mpr_totals *t, struct mpr_books *books, const struct mpf_event *e)
{
    uint64_t now[MPF_HOST_COUNT];
    struct mpr_heap *heap = &books->heap[MPF_HEAP_HOST];
    if (e->size < sizeof now) return;
    memcpy(now, e->data, sizeof now);
    t->told = heap->used = true;
    made(t, books, now[MPF_HOST_MADE_BYTES] - t->value[MPF_HOST_MADE_BYTES],
         now[MPF_HOST_MADE_BLOCKS] - t->value[MPF_HOST_MADE_BLOCKS]);
    heap->frees += now[MPF_HOST_FREED_BLOCKS] - t->value[MPF_HOST_FREED_BLOCKS];
    memcpy(t->value, now, sizeof now);
    forget(&t->since);
    change(t, books, counted(t, MPF_HOST_MADE_BYTES), counted(t, MPF_HOST_MADE_BLOCKS), e->time);
}

void mpr_totals_finish(struct mpr_totals *t, struct mpr_books *books)
{
    const struct mpr_since *s = &t->since;
    if (!t->told || !s->counts) return;
    made(t, books, 0, with(0, s->made));
    books->heap[MPF_HEAP_HOST].frees += with(0, s->made - s->blocks);
}

void mpr_totals_free(struct mpr_totals *t) { forget(&t->since); }
