/* What sampled blocks stand for.  Where only a sample of the small blocks has a call stack, or is
 * recorded, one of s bytes is in it with probability p = 1 - exp(-s / mean), and stands for 1 / p
 * blocks of together s / p bytes: an estimate without bias.  Its variance is (s / p)^2 (1 - p), and
 * of several blocks, which are drawn one by one, the sum of theirs.
 *
 * Kept of each cell: how much more its blocks stand for than they are; at the heap's peak it is
 * saved as the books do. */
#ifndef MPR_ESTIMATES_H
#define MPR_ESTIMATES_H

#include <stdint.h>

#include "books.h"

struct mpr_more {
    int64_t bytes;
    double blocks;
};

struct mpr_estimate {
    struct mpr_more now, saved; /* saved: at the peak, when epoch is the heap's */
    uint64_t epoch;
    uint64_t own_peak; /* bytes with what they stand for, at their most */
    double allocations;
    double came, went;     /* variances, in bytes squared, of all blocks that came, and that went */
    double saved_variance; /* of those that lived at the peak */
    uint64_t samples, live, saved_live; /* sampled blocks: ever, now, at the peak */
};

struct mpr_sampling {
    double mean;    /* bytes between samples; 0: nothing is sampled */
    uint64_t below; /* larger blocks are all in it */
};

struct mpr_estimates {
    struct mpr_sampling stacks; /* which blocks have their call stack */
    struct mpr_sampling python; /* which blocks of host/python are recorded */
    struct mpr_sampling host;   /* which of host/heap are recorded, and so have theirs */
    struct mpr_estimate *cell;  /* by the index of the books' */
    uint32_t cells;
};

void mpr_estimates_free(struct mpr_estimates *e);
/* A block that has its call stack comes into the cell, or goes; before the books know. */
void mpr_estimates_add(struct mpr_estimates *e, const struct mpr_books *books, uint32_t cell,
                       uint64_t size);
void mpr_estimates_remove(struct mpr_estimates *e, const struct mpr_books *books, uint32_t cell,
                          uint64_t size);
/* The same where nothing but samples is in the log, so that the books have no bytes of the others:
 * returns what the block stands for, with itself. */
uint64_t mpr_estimates_come(struct mpr_estimates *e, const struct mpr_books *books, uint32_t cell,
                            uint64_t size);
uint64_t mpr_estimates_go(struct mpr_estimates *e, const struct mpr_books *books, uint32_t cell,
                          uint64_t size);
/* What a block of this size of such a heap stands for beyond what it is. */
struct mpr_weight {
    double bytes, blocks, variance; /* variance: of the bytes */
};
struct mpr_weight mpr_estimates_weight(const struct mpr_sampling *s, uint64_t size);
/* What the cell's blocks stand for beyond what they are, at its heap's peak; *samples: how many
 * were sampled. */
struct mpr_more mpr_estimates_at_peak(const struct mpr_estimates *e, const struct mpr_books *books,
                                      uint32_t cell, uint64_t *samples);
/* The variance of these bytes. */
double mpr_estimates_variance(const struct mpr_estimates *e, const struct mpr_books *books,
                              uint32_t cell);
/* The same in whole blocks, as are asked for where nothing but samples is in the log. */
struct mpr_unseen {
    uint64_t blocks, end_blocks, allocations; /* at the peak, when the log ends, ever */
    uint64_t samples;                         /* at the peak */
};
/* rest: what rounding left of the heap's cells so far, zeros at first.  So all of them sum to the
 * heap's own number, rounded once, whatever they are by. */
struct mpr_unseen_rest {
    double blocks, end_blocks, allocations;
};
struct mpr_unseen mpr_estimates_unseen(const struct mpr_estimates *e, const struct mpr_books *books,
                                       uint32_t cell, struct mpr_unseen_rest *rest);
/* Whom all samples of a heap stand for lies in one cell, `rest`: where chance made the estimates
 * more than that, they are so much too large.  Factors, at most 1. */
struct mpr_excess {
    double bytes, blocks, allocations, end, end_blocks; /* end: when the log ends */
};
struct mpr_excess mpr_estimates_excess(const struct mpr_estimates *e, const struct mpr_books *books,
                                       const struct mpr_cell *rest);

/* A number as a whole one, 0 of one below it; what it lacks of it, the next one of its heap gets:
 * so all of them sum to the whole number of their sum.  lack: 0 at first. */
static inline uint64_t mpr_estimates_whole(double number, double *lack)
{
    if (number < 0) number = 0;
    const uint64_t whole = (uint64_t)(number + *lack + 0.5);
    *lack += number - (double)whole;
    return whole;
}

#endif
