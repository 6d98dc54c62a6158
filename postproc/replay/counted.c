#include "counted.h"

#include <math.h>
#include <string.h>

#include "alloc_context.h"
#include "amount.h"

/* The maximum of the bytes and blocks of a heap, whatever a log claims. */
#define LIVE_MAX ((uint64_t)1 << 60)

/* Returns the cell of blocks with this name, and their site in *site. */
static uint32_t cell_named(struct mpr_replay *r, const char *name, uint8_t heap, uint32_t *site)
{
    const uint32_t node = mpr_sites_named(&r->sites, &r->ranges, name);
    *site = mpr_sites_site(&r->sites, (struct mpr_site){ .python = node });
    const struct mpr_alloc_context context = { .node = node, .site = *site };
    return mpr_alloc_context_cell(r, &context, heap);
}

/* Sets the bytes and blocks of a cell, which are in *live, in one change, so that a peak has both.
 */
static void set_live(struct mpr_accounts *accounts, uint32_t cell, struct mpr_counted_blocks *live,
                     struct mpr_counted_blocks new, uint64_t time)
{
    const uint64_t blocks = new.blocks - live->blocks; /* modulo 2^64 */
    if (new.bytes >= live->bytes)
        mpr_accounts_add_many(accounts, cell, new.bytes - live->bytes, blocks, time);
    else mpr_accounts_remove_many(accounts, cell, live->bytes - new.bytes, 0 - blocks);
    *live = new;
}

/* ---- totals */

/* Returns allocations minus frees.  They may be negative: a forked child also frees blocks of its
 * parent. */
static uint64_t total_of(const struct mpr_counted_totals *t, unsigned made)
{
    const uint64_t live = mpr_saturating_sub(t->value[made], t->value[made + 2]);
    return live < LIVE_MAX ? live : LIVE_MAX;
}
_Static_assert(MPF_HOST_FREED_BYTES == MPF_HOST_MADE_BYTES + 2 &&
                   MPF_HOST_FREED_BLOCKS == MPF_HOST_MADE_BLOCKS + 2,
               "the numbers of freed blocks follow those of made ones");

/* Returns the sum, at least 0, and at most LIVE_MAX more than the counted number. */
static uint64_t add_limited(uint64_t counted, double more)
{
    if (more < 0) return mpr_saturating_sub(counted, (uint64_t)fmin(-more, (double)LIVE_MAX));
    return counted + (uint64_t)fmin(more, (double)LIVE_MAX);
}

static void begin(struct mpr_replay *r)
{
    struct mpr_counted_totals *t = &r->totals;
    if (t->known) return;
    t->cell = cell_named(r, r->options.rest_name, MPF_HEAP_HOST, &t->site);
    t->known = r->accounts.heap[MPF_HEAP_HOST].used = true;
}

/* Decides whether the changes since the counters were recorded count. */
static void judge(struct mpr_since *s, int sign, uint64_t key, const struct mpr_weight *more)
{
    /* A block that was allocated and freed since then changes neither the sum nor the variance. */
    const bool is_new = sign > 0 || mpr_index_get(&s->made_live, key);
    if (is_new) mpr_index_set(&s->made_live, key, sign > 0);
    s->variance += sign < 0 && is_new ? -more->variance : more->variance;
    /* Six standard errors, because even in a long log hardly any instant is beyond that by chance.
     * Three if the change counts already, because otherwise the total would jump up and down near
     * the limit. */
    s->certain = fabs(s->bytes) > (s->certain ? 3 : 6) * sqrt(fmax(0, s->variance));
}

/* Without counters all that the samples show counts. */
static void count_all(struct mpr_since *s, struct mpr_heap *host, int sign,
                      const struct mpr_weight *more)
{
    s->certain = true;
    if (sign > 0) host->made_bytes += (uint64_t)fmax(0, more->bytes);
}

void mpr_counted_totals_sampled(struct mpr_replay *r, int sign, uint64_t key,
                                const struct mpr_weight *more)
{
    struct mpr_counted_totals *t = &r->totals;
    struct mpr_accounts *accounts = &r->accounts;
    struct mpr_since *s = &t->since;
    if (r->options.host_sums_estimated) begin(r);
    if (!t->known) return;
    s->bytes += sign * more->bytes;
    s->blocks += sign * more->blocks;
    if (sign > 0) s->made += more->blocks;
    if (!r->options.host_sums_estimated) judge(s, sign, key, more);
    else count_all(s, &accounts->heap[MPF_HEAP_HOST], sign, more);
    struct mpr_counted_blocks live = { total_of(t, MPF_HOST_MADE_BYTES),
                                       total_of(t, MPF_HOST_MADE_BLOCKS) };
    if (!s->certain && t->live.bytes == live.bytes) return;
    if (s->certain)
        live = (struct mpr_counted_blocks){ add_limited(live.bytes, s->bytes),
                                            add_limited(live.blocks, s->blocks) };
    set_live(accounts, t->cell, &t->live, live, r->now);
}

static void count_made(struct mpr_counted_totals *t, struct mpr_accounts *accounts, uint64_t bytes,
                       uint64_t blocks)
{
    accounts->heap[MPF_HEAP_HOST].made_bytes += bytes;
    accounts->heap[MPF_HEAP_HOST].allocations += blocks;
    accounts->cell[t->cell].allocations += blocks;
}

void mpr_counted_totals_free(struct mpr_counted_totals *t)
{
    mpr_index_free(&t->since.made_live);
    t->since = (struct mpr_since){ 0 };
}

static void update_before(struct mpr_replay *r);

void mpr_counted_totals_take(struct mpr_replay *r, const struct mpf_event *e)
{
    struct mpr_counted_totals *t = &r->totals;
    struct mpr_accounts *accounts = &r->accounts;
    uint64_t now[MPF_HOST_COUNT];
    if (e->size < sizeof now || r->options.host_sums_estimated) return;
    begin(r);
    memcpy(now, e->data, sizeof now);
    count_made(t, accounts, now[MPF_HOST_MADE_BYTES] - t->value[MPF_HOST_MADE_BYTES],
               now[MPF_HOST_MADE_BLOCKS] - t->value[MPF_HOST_MADE_BLOCKS]);
    accounts->heap[MPF_HEAP_HOST].frees +=
        now[MPF_HOST_FREED_BLOCKS] - t->value[MPF_HOST_FREED_BLOCKS];
    memcpy(t->value, now, sizeof now);
    mpr_counted_totals_free(t);
    const struct mpr_counted_blocks live = { total_of(t, MPF_HOST_MADE_BYTES),
                                             total_of(t, MPF_HOST_MADE_BLOCKS) };
    set_live(accounts, t->cell, &t->live, live, e->time);
    update_before(r);
}

/* ---- blocks from before the attach */

/* Blocks that are only counted may have been freed in larger numbers than were made. */
static void update_before(struct mpr_replay *r)
{
    struct mpr_before *b = &r->before;
    const uint64_t *counts = r->totals.value;
    if (!b->known) return;
    const uint64_t counted_bytes = mpr_saturating_sub(counts[MPF_HOST_FREED_BYTES],
                                                      counts[MPF_HOST_MADE_BYTES]),
                   begun = r->options.before_bytes < LIVE_MAX ? r->options.before_bytes : LIVE_MAX,
                   left = mpr_saturating_sub(begun, b->freed);
    const struct mpr_counted_blocks now = { mpr_saturating_sub(left, counted_bytes), 0 };
    set_live(&r->accounts, b->cell, &b->live, now, r->now);
}

void mpr_before_begin(struct mpr_replay *r)
{
    struct mpr_before *b = &r->before;
    b->known = r->accounts.heap[MPF_HEAP_HOST].used = true;
    b->cell = cell_named(r, MPR_BEFORE_NAME, MPF_HEAP_HOST, &b->site);
    update_before(r);
}

void mpr_before_freed(struct mpr_replay *r, uint64_t bytes)
{
    if (bytes < LIVE_MAX - r->before.freed) r->before.freed += bytes;
    update_before(r);
}

/* ---- the end of the totals */

void mpr_counted_totals_finish(struct mpr_counted_totals *t, struct mpr_accounts *accounts)
{
    const struct mpr_since *s = &t->since;
    if (!t->known || !s->certain) return;
    count_made(t, accounts, 0, add_limited(0, s->made));
    accounts->heap[MPF_HEAP_HOST].frees += add_limited(0, s->made - s->blocks);
}

/* ---- thinned parts of a log */

struct mpr_thinned_counts mpr_thinned_counts_of(const struct mpf_event *e)
{
    struct mpr_thinned_counts v = { 0 };
    if (e->size >= sizeof v.value) memcpy(v.value, e->data, sizeof v.value);
    return v;
}

/* By call stack these blocks are in the cell of all blocks without one. */
void mpr_counted_thinned(struct mpr_replay *r, const struct mpf_event *e)
{
    const struct mpr_thinned_counts v = mpr_thinned_counts_of(e);
    struct mpr_heap *heap = &r->accounts.heap[e->heap];
    const uint64_t bytes = v.value[MPF_FOLDED_BYTES], blocks = v.value[MPF_FOLDED_BLOCKS];
    heap->used = true;
    heap->allocations += v.value[MPF_FOLDED_MADE];
    heap->frees += v.value[MPF_FOLDED_FREED];
    if (!bytes && !blocks && !r->thinned_site) return;
    const struct mpr_counted_blocks now = { bytes < LIVE_MAX ? bytes : LIVE_MAX,
                                            blocks < LIVE_MAX ? blocks : LIVE_MAX };
    const uint32_t cell = cell_named(r, "(folded)", e->heap, &r->thinned_site);
    set_live(&r->accounts, cell, &r->thinned[e->heap], now, r->now);
}
