/* Estimates from sampled blocks. If only a sample of the small blocks has a call stack, or is
 * recorded, a block of s bytes is sampled with probability p = 1 - exp(-s / mean), and represents 1
 * / p blocks of s / p bytes in total: an unbiased estimate. Its variance is (s / p)^2 (1 - p), and
 * that of several blocks, which are drawn independently, is the sum.
 *
 * Each cell has what its blocks represent beyond themselves. The state at the heap's peak is saved
 * as in the accounts. */
#ifndef MPR_ESTIMATES_H
#define MPR_ESTIMATES_H

#include <stdint.h>

#include "accounts.h"

struct mpr_represented {
    int64_t bytes;
    double blocks;
};

struct mpr_estimate {
    struct mpr_represented now, saved; /* saved: at the peak, if epoch is the heap's */
    uint64_t epoch;
    uint64_t own_peak; /* maximum of the bytes, including represented ones */
    double allocations;
    /* Variances, bytes^2: of all blocks that were added so far, and of those that were removed. */
    double came, went;
    double saved_variance;              /* variance of the blocks that were live at the peak */
    uint64_t samples, live, saved_live; /* sampled blocks: ever, now, at the peak */
};

struct mpr_sampling {
    double mean;    /* bytes between samples, 0 without sampling */
    uint64_t below; /* blocks of this size and above are all recorded */
};

struct mpr_estimates {
    struct mpr_sampling stacks; /* which blocks have a call stack */
    struct mpr_sampling python; /* which blocks of host/python are recorded */
    struct mpr_sampling host;   /* which blocks of host/heap are recorded, with their call stack */
    struct mpr_estimate *cell;  /* by the accounts' index */
    uint32_t cells;
};

void mpr_estimates_free(struct mpr_estimates *e);
/* A sampled block is added to the cell, or removed. Call before the accounts change. */
void mpr_estimates_add(struct mpr_estimates *e, const struct mpr_accounts *accounts, uint32_t cell,
                       uint64_t size);
void mpr_estimates_remove(struct mpr_estimates *e, const struct mpr_accounts *accounts,
                          uint32_t cell, uint64_t size);
/* Likewise (@sign: 1 or -1) if only samples are recorded, so that the accounts do not have the
 * others: returns the bytes that the block represents, including its own. */
uint64_t mpr_estimates_change_only(struct mpr_estimates *e, const struct mpr_accounts *accounts,
                                   uint32_t cell, uint64_t size, int sign);

/* The blocks that a sampled block of this size represents, without itself. */
struct mpr_weight {
    double bytes, blocks, variance; /* variance: of the bytes */
};
struct mpr_weight mpr_estimates_weight(const struct mpr_sampling *s, uint64_t size);

/* Returns what the cell's blocks represent beyond themselves at its heap's peak. *samples: how many
 * were sampled. */
struct mpr_represented mpr_estimates_at_peak(const struct mpr_estimates *e,
                                             const struct mpr_accounts *accounts, uint32_t cell,
                                             uint64_t *samples);
/* Returns the variance of these bytes. */
double mpr_estimates_variance(const struct mpr_estimates *e, const struct mpr_accounts *accounts,
                              uint32_t cell);

/* The same in whole blocks, for heaps of which only samples are recorded. */
struct mpr_represented_counts {
    uint64_t blocks, end_blocks, allocations; /* at the peak; at the end of the log; ever */
    uint64_t samples;                         /* at the peak */
};
/* The rounding errors of the heap's previous cells, zeros at first. So the cells add up to the
 * heap's own number, rounded once, whatever the grouping. */
struct mpr_rounding_errors {
    double blocks, end_blocks, allocations;
};
struct mpr_represented_counts mpr_estimates_counts(const struct mpr_estimates *e,
                                                   const struct mpr_accounts *accounts,
                                                   uint32_t cell,
                                                   struct mpr_rounding_errors *errors);

/* The blocks that all samples of a heap represent are in one cell. If the estimates are
 * larger than that by chance, they are too large by these factors, at most 1. */
struct mpr_overestimate {
    double bytes, blocks, allocations, end, end_blocks; /* end: bytes at the end of the log */
};
struct mpr_overestimate mpr_estimates_overestimate(const struct mpr_estimates *e,
                                                   const struct mpr_accounts *accounts,
                                                   const struct mpr_cell *represented);

/* Returns the number rounded to a whole one, 0 if it is negative. The rounding error, *error (0 at
 * first), is added to the heap's next number, so that the numbers add up to the rounded sum. */
static inline uint64_t mpr_estimates_whole(double number, double *error)
{
    if (number < 0) number = 0;
    const uint64_t whole = (uint64_t)(number + *error + 0.5);
    *error += number - (double)whole;
    return whole;
}

#endif
