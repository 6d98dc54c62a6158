#include "excerpts.h"

#include <stdlib.h>
#include <string.h>

#include "accounts.h"
#include "alloc.h"
#include "mpf/event.h"

struct mpr_excerpts *mpr_excerpts_new(size_t half, const uint64_t *now)
{
    struct mpr_excerpts *w = mpr_alloc(1, sizeof *w);
    w->half = half;
    w->mask = 2 * half - 1;
    w->now = now;
    return w;
}

static void free_excerpt(struct mpr_excerpt *excerpt)
{
    free(excerpt->change);
    free(excerpt->bytes);
    free(excerpt->estimate);
}

void mpr_excerpts_free(struct mpr_excerpts *w)
{
    if (!w) return;
    for (int i = 0; i < MPR_HEAPS; i++) {
        free(w->heap[i].ring);
        for (enum mpr_excerpt_kind k = 0; k < MPR_EXCERPT_KINDS; k++)
            for (int n = 0; n < MPR_EXCERPTS_KEPT; n++) free_excerpt(&w->heap[i].kept[k][n]);
    }
    free(w);
}

/* ---- from the ring to an excerpt */

static void copy(struct mpr_excerpts *w, const struct mpr_accounts *accounts, uint8_t heap,
                 enum mpr_excerpt_kind kind, bool last)
{
    struct mpr_excerpts_heap *h = &w->heap[heap];
    const struct mpr_estimates *e = w->estimates;
    const bool peak = kind == MPR_EXCERPT_PEAK;
    const size_t size = 2 * w->half, count = h->count < size ? h->count : size,
                 before = h->count - count;
    struct mpr_excerpt excerpt = {
        .changes = count, .cells = accounts->cells, .first = !before, .last = last
    };
    excerpt.known = peak ? h->at[kind] - before : count;
    excerpt.change = mpr_alloc(count, sizeof *excerpt.change);
    if (!peak) excerpt.bytes = mpr_alloc(accounts->cells, sizeof *excerpt.bytes);
    for (uint32_t i = 0; !peak && i < accounts->cells; i++)
        if (accounts->cell[i].heap == heap) excerpt.bytes[i] = accounts->cell[i].bytes;
    if (!peak && e) {
        const struct mpr_estimate_change *c = &e->newest;
        excerpt.estimate = mpr_alloc(accounts->cells, sizeof *excerpt.estimate);
        for (uint32_t i = 0; i < accounts->cells && i < e->cells; i++) {
            const struct mpr_estimate_state now = mpr_estimate_now(&e->cell[i]);
            excerpt.estimate[i] = (struct mpr_excerpt_estimate){ now.bytes, now.variance };
        }
        if (mpr_excerpts_is_ahead(w) && c->cell < accounts->cells) {
            excerpt.estimate[c->cell].bytes -= c->sign * (int64_t)c->weight.bytes;
            excerpt.estimate[c->cell].variance -= c->sign * c->weight.variance;
        }
    }
    excerpt.allocs = h->grown;
    for (size_t i = 0; i < count; i++) { /* the oldest first */
        excerpt.change[i] = h->ring[(before + i) & w->mask];
        excerpt.allocs -= excerpt.change[i].grown;
    }
    excerpt.frees = before - excerpt.allocs;
    struct mpr_excerpt *place = &h->kept[kind][peak ? 0 : h->copied[kind]++ % MPR_EXCERPTS_KEPT];
    free_excerpt(place);
    *place = excerpt;
    h->at[kind] = MPR_EXCERPTS_NONE;
}

/* ---- when */

static void set_due(struct mpr_excerpts_heap *h, size_t half)
{
    h->due = MPR_EXCERPTS_NONE;
    for (enum mpr_excerpt_kind k = 0; k < MPR_EXCERPT_KINDS; k++)
        if (h->at[k] != MPR_EXCERPTS_NONE && h->at[k] + half < h->due) h->due = h->at[k] + half;
}

/* A new epoch shows that the newest change made a new peak. */
static void note_peak(struct mpr_excerpts_heap *h, uint64_t epoch)
{
    if (h->epoch == epoch) return;
    h->epoch = epoch;
    h->at[MPR_EXCERPT_PEAK] = h->count;
}

void mpr_excerpts_copy_due(struct mpr_excerpts *w, const struct mpr_accounts *accounts,
                           uint8_t heap, uint64_t epoch)
{
    struct mpr_excerpts_heap *h = &w->heap[heap];
    if (!h->ring) {
        h->ring = mpr_alloc(2 * w->half, sizeof *h->ring);
        for (enum mpr_excerpt_kind k = 0; k < MPR_EXCERPT_KINDS; k++) h->at[k] = MPR_EXCERPTS_NONE;
        h->epoch = epoch;
        h->due = MPR_EXCERPTS_NONE;
        return;
    }
    note_peak(h, epoch);
    for (enum mpr_excerpt_kind k = 0; k < MPR_EXCERPT_KINDS; k++)
        if (h->at[k] != MPR_EXCERPTS_NONE && h->count >= h->at[k] + w->half)
            copy(w, accounts, heap, k, false);
    set_due(h, w->half);
}

void mpr_excerpts_mark(struct mpr_excerpts *w, const struct mpr_accounts *accounts, uint8_t heap,
                       enum mpr_excerpt_kind kind)
{
    for (unsigned i = 0; i < MPR_HEAPS; i++) {
        struct mpr_excerpts_heap *h = &w->heap[i];
        const bool gpu = mpf_heap_is_gpu(heap);
        if (mpf_heap_is_gpu(i) != gpu || (gpu && mpf_heap_device(i) != mpf_heap_device(heap)))
            continue;
        if (!h->ring || h->at[kind] != MPR_EXCERPTS_NONE) continue;
        note_peak(h, accounts->heap[i].epoch);
        h->at[kind] = h->count;
        set_due(h, w->half);
    }
}

void mpr_excerpts_finish(struct mpr_excerpts *w, const struct mpr_accounts *accounts)
{
    for (unsigned i = 0; i < MPR_HEAPS; i++) {
        struct mpr_excerpts_heap *h = &w->heap[i];
        if (!h->ring) continue;
        note_peak(h, accounts->heap[i].epoch);
        for (enum mpr_excerpt_kind k = 0; k < MPR_EXCERPT_KINDS; k++)
            if (h->at[k] != MPR_EXCERPTS_NONE) copy(w, accounts, (uint8_t)i, k, true);
    }
}

/* ---- from an excerpt to a series: its changes are applied again, to a copy of the accounts */

/* Sets the copies of the accounts and the estimates to the state before the excerpt's first change.
 * @estimates: those of the replay, or NULL. */
static void rewind_changes(struct mpr_accounts *own, struct mpr_estimates *own_estimates,
                           const struct mpr_excerpt *excerpt, const struct mpr_accounts *accounts,
                           const struct mpr_estimates *estimates, uint8_t heap)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < own->cells; i++) {
        const bool is_new = i >= excerpt->cells; /* since the excerpt */
        struct mpr_excerpt_estimate known = { 0 };
        if (own->cell[i].heap != heap) continue;
        if (!excerpt->bytes)
            own->cell[i].bytes = mpr_accounts_at_peak(accounts, &accounts->cell[i]).bytes;
        else own->cell[i].bytes = is_new ? 0 : excerpt->bytes[i];
        sum += own->cell[i].bytes;
        if (!estimates) continue;
        if (!excerpt->bytes) {
            const struct mpr_estimate_state at_peak = mpr_estimates_at_peak(estimates, accounts, i);
            known = (struct mpr_excerpt_estimate){ at_peak.bytes, at_peak.variance };
        } else if (!is_new) known = excerpt->estimate[i];
        own_estimates->cell[i].now.bytes = known.bytes;
        own_estimates->cell[i].variance_added = known.variance;
    }
    for (size_t i = excerpt->known; i-- > 0;) {
        const struct mpr_excerpt_change *c = &excerpt->change[i];
        const uint64_t size = c->grown ? -c->size : c->size;
        own->cell[c->cell].bytes += size;
        sum += size;
        if (!estimates) continue;
        struct mpr_estimate *estimate = &own_estimates->cell[c->cell];
        estimate->now.bytes += (c->grown ? -1 : 1) * (int64_t)c->weight.bytes;
        estimate->variance_added += (c->grown ? -1 : 1) * c->weight.variance;
    }
    own->heap[heap].bytes = sum;
}

void mpr_excerpt_replay(const struct mpr_excerpt *excerpt, const struct mpr_accounts *accounts,
                        const struct mpr_estimates *estimates, uint8_t heap,
                        struct mpr_excerpt_series *out)
{
    uint64_t now = 0;
    struct mpr_estimates own_estimates = { .cells = 0 };
    *out = (struct mpr_excerpt_series){ .allocs = excerpt->allocs, .frees = excerpt->frees };
    /* Other changes at the same times as the first and the last one may be missing. */
    out->from = excerpt->first ? 0 : excerpt->change[0].time + 1;
    out->to = excerpt->last ? UINT64_MAX : excerpt->change[excerpt->changes - 1].time;
    if (out->from >= out->to) return;
    const struct mpr_levels_options every = {
        .from = out->from,
        .to = out->to - 1,
        .buckets = SIZE_MAX,
        .changes = SIZE_MAX,
        .estimates = estimates ? &own_estimates : NULL,
    };
    struct mpr_levels *levels = mpr_levels_new(&every, &now);
    struct mpr_accounts *own = mpr_alloc(1, sizeof *own);
    mpr_levels_reserve(levels, accounts->cells); /* at least one, even without cells */
    *own = *accounts;
    own->levels = levels;
    own->excerpts = NULL; /* these changes were observed before */
    own->maxima = NULL;
    own->touches = NULL;
    own->own_peaks = NULL;
    own->survivors = NULL;
    own->cell = mpr_alloc(accounts->cells, sizeof *own->cell);
    if (accounts->cells) memcpy(own->cell, accounts->cell, accounts->cells * sizeof *own->cell);
    if (estimates) {
        own_estimates = *estimates;
        own_estimates.cells = accounts->cells;
        own_estimates.cell = mpr_alloc(accounts->cells, sizeof *own_estimates.cell);
    }
    rewind_changes(own, &own_estimates, excerpt, accounts, estimates, heap);
    for (uint32_t i = 0; i < own->cells; i++) /* levels know only cells that have changed */
        if (own->cell[i].heap == heap && own->cell[i].bytes)
            mpr_levels_save(levels, own, i, heap, own->heap[heap].bytes);
    for (size_t i = 0; i < excerpt->changes; i++) {
        const struct mpr_excerpt_change *c = &excerpt->change[i];
        now = c->time;
        if (now < out->from) *(c->grown ? &out->allocs : &out->frees) += 1;
        if (c->weight.variance > 0)
            mpr_estimates_repeat(&own_estimates, own, c->cell, &c->weight, c->grown ? 1 : -1);
        if (c->grown) mpr_accounts_add(own, c->cell, c->size, now);
        else mpr_accounts_remove(own, c->cell, c->size);
    }
    mpr_levels_finish(levels, own);
    out->series = levels->level[heap].series;
    levels->level[heap].series = (struct mpr_series){ 0 };
    if (estimates) mpr_estimates_free(&own_estimates);
    free(own->cell);
    free(own);
    mpr_levels_free(levels);
}
