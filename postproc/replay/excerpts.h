/* Excerpts: spans of time around a heap's peak, failures and graphs, with every change of the heap.
 * An observer of the accounts.
 *
 * A ring has the newest changes of each heap.  When half a ring of further changes has followed
 * such an instant, the ring is copied: the excerpt then has as many changes before the instant as
 * after it.  So one pass is enough, and memory is bounded.  An excerpt also has the bytes of
 * every cell at one instant (a vector): those at the peak from the accounts, or else those at its
 * end. */
#ifndef MPR_EXCERPTS_H
#define MPR_EXCERPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "estimates.h"
#include "levels.h"

struct mpr_accounts;

enum mpr_excerpt_kind {
    MPR_EXCERPT_PEAK,
    MPR_EXCERPT_FAILURE,
    MPR_EXCERPT_GRAPH,
    MPR_EXCERPT_KINDS
};

/* The newest excerpts of each kind are kept, but only one of peaks. */
enum { MPR_EXCERPTS_KEPT = 8 };

struct mpr_excerpt_change {
    uint64_t time, size;
    uint32_t cell;
    bool grown;
    struct mpr_weight weight; /* zeros if the block is not sampled */
};

/* The estimate of a cell. */
struct mpr_excerpt_estimate {
    int64_t bytes;
    double variance;
};

struct mpr_excerpt {
    struct mpr_excerpt_change *change; /* NULL: an empty place */
    size_t changes;
    size_t known;    /* number of changes before the instant of the vector */
    uint64_t *bytes; /* the vector, by cell, or NULL: then it is the accounts' at the peak */
    struct mpr_excerpt_estimate *estimate; /* the estimates at that instant, or NULL, also if there
                                              are none */
    size_t cells;
    uint64_t allocs, frees; /* allocations and frees of the heap before the first change */
    bool first, last; /* they are all changes from the first one, or up to the last one, of the log
                       */
};

struct mpr_excerpts_heap {
    struct mpr_excerpt_change *ring; /* NULL until the first change */
    uint64_t count, grown;           /* changes so far */
    uint64_t epoch;                  /* epoch of the accounts' heap when it was examined last */
    uint64_t due;                    /* number of the change before which an excerpt is copied */
    /* Number of the change at the centre of an excerpt that is not copied yet, or
     * MPR_EXCERPTS_NONE. */
    uint64_t at[MPR_EXCERPT_KINDS];
    struct mpr_excerpt kept[MPR_EXCERPT_KINDS][MPR_EXCERPTS_KEPT]; /* rings */
    size_t copied[MPR_EXCERPT_KINDS];                              /* so far */
};

#define MPR_EXCERPTS_NONE UINT64_MAX

struct mpr_excerpts {
    const uint64_t *now;                   /* replay's clock, ns */
    const struct mpr_estimates *estimates; /* or NULL */
    uint64_t weights; /* number of estimates->changes up to the newest one in a ring */
    size_t half;      /* changes on either side of the instant; a power of two */
    size_t mask;      /* for an index of the ring, which has 2 * half places */
    struct mpr_excerpts_heap heap[256];
};

struct mpr_excerpts *mpr_excerpts_new(size_t half, const uint64_t *now);
void mpr_excerpts_free(struct mpr_excerpts *w);
/* Requests an excerpt around now of all heaps of the host, or of the GPU that `heap` belongs to. */
void mpr_excerpts_mark(struct mpr_excerpts *w, const struct mpr_accounts *accounts, uint8_t heap,
                       enum mpr_excerpt_kind kind);
/* Copies the excerpts that are due before a change. */
void mpr_excerpts_copy_due(struct mpr_excerpts *w, const struct mpr_accounts *accounts,
                           uint8_t heap, uint64_t epoch);
/* Call after the last change. */
void mpr_excerpts_finish(struct mpr_excerpts *w, const struct mpr_accounts *accounts);

/* Returns true if an estimate has changed, and its cell changes next. */
static inline bool mpr_excerpts_is_ahead(const struct mpr_excerpts *w)
{
    return w->estimates && w->weights != w->estimates->changes;
}

/* Call before each change of a cell of `heap`.  @epoch: the heap's. */
static inline void mpr_excerpts_change(struct mpr_excerpts *w, const struct mpr_accounts *accounts,
                                       uint8_t heap, uint64_t epoch, uint32_t cell, uint64_t size,
                                       bool grown)
{
    struct mpr_excerpts_heap *h = &w->heap[heap];
    if (h->count >= h->due || h->epoch != epoch) mpr_excerpts_copy_due(w, accounts, heap, epoch);
    struct mpr_excerpt_change *change = &h->ring[h->count++ & w->mask];
    *change = (struct mpr_excerpt_change){ .time = *w->now, size, cell, grown };
    h->grown += grown;
    if (!mpr_excerpts_is_ahead(w) || w->estimates->newest.cell != cell) return;
    w->weights = w->estimates->changes;
    change->weight = w->estimates->newest.weight;
}

/* An excerpt as a series in which every instant has its own bucket, with the groups of levels.h. */
struct mpr_excerpt_series {
    struct mpr_series series;
    uint64_t from, to;      /* ns: exact from `from` until before `to`, which may be UINT64_MAX */
    uint64_t allocs, frees; /* of the heap before `from` */
};
/* @estimates: those of the replay, or NULL. */
void mpr_excerpt_replay(const struct mpr_excerpt *excerpt, const struct mpr_accounts *accounts,
                        const struct mpr_estimates *estimates, uint8_t heap,
                        struct mpr_excerpt_series *out);

#endif
