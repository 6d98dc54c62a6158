/* Spans of time in which every change of a heap is kept: around its peak, and around failures and
 * graphs.  An observer of the books.
 *
 * The newest changes of each heap are in a ring, and half a ring after such an instant they are
 * copied: one pass is enough, and memory is bounded.  An excerpt needs one vector to count from: of
 * the peak the books have it; of another instant that of the excerpt's end is copied, too. */
#ifndef MPR_EXCERPTS_H
#define MPR_EXCERPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "series.h"

struct mpr_books;

enum mpr_excerpt_kind {
    MPR_EXCERPT_PEAK,
    MPR_EXCERPT_FAILURE,
    MPR_EXCERPT_GRAPH,
    MPR_EXCERPT_KINDS
};

/* Of each kind the newest ones; of the peak the last. */
enum { MPR_EXCERPTS_KEPT = 8 };

struct mpr_excerpt_change {
    uint64_t time, size;
    uint32_t cell;
    bool grown;
};

struct mpr_excerpt {
    struct mpr_excerpt_change *change; /* NULL: an empty place */
    size_t changes;
    size_t known; /* behind so many of them the vector is known: `bytes`, or, NULL, the books' peak
                   */
    uint64_t *bytes; /* by cell */
    size_t cells;
    uint64_t allocs, frees; /* of the heap before the first of them */
    bool first, last;       /* nothing changed before it; after it */
};

struct mpr_excerpts_heap {
    struct mpr_excerpt_change *ring; /* NULL until the first change */
    uint64_t count, grown;           /* changes so far */
    uint64_t epoch;                  /* of the books' heap when it was looked at last */
    uint64_t due;                    /* the change at which something is to be done */
    uint64_t at[MPR_EXCERPT_KINDS];  /* the instant, as a count, whose excerpt is not copied yet;
                                        MPR_EXCERPTS_NONE */
    struct mpr_excerpt kept[MPR_EXCERPT_KINDS][MPR_EXCERPTS_KEPT];
    size_t keeps[MPR_EXCERPT_KINDS]; /* so far: the next goes to keeps % MPR_EXCERPTS_KEPT */
};

#define MPR_EXCERPTS_NONE UINT64_MAX

struct mpr_excerpts {
    const uint64_t *now; /* replay's clock, ns */
    size_t half;         /* changes on either side of the instant; a power of two */
    size_t mask;         /* of a ring, which has twice as many */
    struct mpr_excerpts_heap heap[256];
};

struct mpr_excerpts *mpr_excerpts_new(size_t half, const uint64_t *now);
void mpr_excerpts_free(struct mpr_excerpts *w);
/* What happened now is worth an excerpt in all heaps of the host, or of the GPU that `heap` is of.
 */
void mpr_excerpts_mark(struct mpr_excerpts *w, const struct mpr_books *books, uint8_t heap,
                       enum mpr_excerpt_kind kind);
/* Copies what is due before a change. */
void mpr_excerpts_turn(struct mpr_excerpts *w, const struct mpr_books *books, uint8_t heap,
                       uint64_t epoch);
/* After the last change. */
void mpr_excerpts_finish(struct mpr_excerpts *w, const struct mpr_books *books);

/* Called before each change of a cell of `heap`; epoch: the heap's. */
static inline void mpr_excerpts_see(struct mpr_excerpts *w, const struct mpr_books *books,
                                    uint8_t heap, uint64_t epoch, uint32_t cell, uint64_t size,
                                    bool grown)
{
    struct mpr_excerpts_heap *h = &w->heap[heap];
    if (h->count >= h->due || h->epoch != epoch) mpr_excerpts_turn(w, books, heap, epoch);
    h->ring[h->count++ & w->mask] = (struct mpr_excerpt_change){ *w->now, size, cell, grown };
    h->grown += grown;
}

/* An excerpt as a series in which every instant has its own bucket, exact from `from` (0: from the
 * beginning) to before `to` (UINT64_MAX: to the end); allocs and frees: of the heap before `from`.
 */
struct mpr_excerpt_series {
    struct mpr_series series;
    uint64_t from, to, allocs, frees;
};
void mpr_excerpt_replay(const struct mpr_excerpt *excerpt, const struct mpr_books *books,
                        uint8_t heap, struct mpr_excerpt_series *out);

#endif
