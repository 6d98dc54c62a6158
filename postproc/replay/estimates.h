/* Estimates from sampled blocks.  If only a sample of the small blocks has a call stack, or is
 * recorded, a block of s bytes is sampled with probability p = 1 - exp(-s / mean), and represents
 * 1 / p blocks of s / p bytes in total: an unbiased estimate.  Its variance is (s / p)^2 (1 - p).
 * That of several blocks is the sum, because blocks are sampled independently.
 *
 * The bytes that all samples of a heap represent together are known exactly: they are in one cell,
 * the rest.  (In a log without totals of host/heap, that cell has the sum of the estimates.)
 * If the sum of the estimates differs from them by chance, the estimates are scaled to
 * them (a ratio estimator).  If the rest is too large for chance, the estimates are not scaled,
 * because some of its blocks could not be sampled, such as those from before the recording.
 *
 * A cell's estimate is the bytes and blocks that its blocks represent, without these blocks
 * themselves.  The state at the heap's peak is saved as in the accounts. */
#ifndef MPR_ESTIMATES_H
#define MPR_ESTIMATES_H

#include <stdint.h>

#include "accounts.h"
#include "variance.h"

struct mpr_represented {
    int64_t bytes;
    double blocks;
};

/* The bytes and blocks that the live sampled blocks represent at an instant, without their own. */
struct mpr_estimate_state {
    int64_t bytes;
    double blocks, variance; /* variance: of the bytes */
    uint64_t samples;        /* number of the sampled blocks */
};

struct mpr_estimate {
    struct mpr_represented now;
    struct mpr_estimate_state saved; /* at the peak, if epoch is the heap's */
    uint64_t epoch;
    uint64_t own_peak; /* maximum of the bytes, including represented ones */
    double allocations;
    /* Variances (bytes^2) of all blocks that were added so far, and of those that were removed. */
    double variance_added, variance_removed;
    uint64_t samples, live; /* sampled blocks: ever, now */
};
static inline struct mpr_estimate_state mpr_estimate_now(const struct mpr_estimate *e)
{
    return (struct mpr_estimate_state){ e->now.bytes, e->now.blocks,
                                        e->variance_added - e->variance_removed, e->live };
}

/* The bytes and blocks that a sampled block represents, without itself. */
struct mpr_weight {
    double bytes, blocks, variance; /* variance: of the bytes */
};

struct mpr_sampling {
    double mean;    /* bytes between samples, 0 without sampling */
    uint64_t below; /* blocks of this size and above are all recorded */
};

struct mpr_estimates {
    struct mpr_sampling stacks; /* which blocks have a call stack */
    struct mpr_sampling python; /* which blocks of host/python are recorded */
    struct mpr_sampling host;   /* which blocks of host/heap are recorded, with their call stack */
    bool host_is_estimated;     /* the bytes that these represent together are an estimate */
    struct mpr_estimate *cell;  /* by the accounts' index */
    uint32_t cells;
    uint64_t changes; /* blocks that were added or removed so far */
    struct mpr_estimate_change {
        uint32_t cell;
        int sign; /* 1: added, -1: removed */
        struct mpr_weight weight;
    } newest;
};

void mpr_estimates_free(struct mpr_estimates *e);
/* A sampled block is added to the cell (@sign: 1) or removed (-1). Call before the accounts change.
 * Returns its bytes in the accounts: of host/python only samples are recorded, so that the accounts
 * do not have the others, and a block counts with the bytes that it represents. */
uint64_t mpr_estimates_change(struct mpr_estimates *e, const struct mpr_accounts *accounts,
                              uint32_t cell, uint64_t size, int sign);
/* Applies a past change again, to a copy of the accounts. */
void mpr_estimates_repeat(struct mpr_estimates *e, const struct mpr_accounts *accounts,
                          uint32_t cell, const struct mpr_weight *weight, int sign);

/* Returns the weight of a sampled block of this size. */
struct mpr_weight mpr_estimates_weight(const struct mpr_sampling *s, uint64_t size);
/* Returns how the blocks of a heap are sampled. */
const struct mpr_sampling *mpr_estimates_sampling(const struct mpr_estimates *e, uint8_t heap);

/* Return true if the cell, or any cell of the heap, had a sampled block. */
static inline bool mpr_estimates_is_sampled(const struct mpr_estimates *e, uint32_t cell)
{
    return cell < e->cells && e->cell[cell].samples;
}
bool mpr_estimates_heap_is_sampled(const struct mpr_estimates *e,
                                   const struct mpr_accounts *accounts, uint8_t heap);

/* Returns the state of a cell at its heap's peak. */
struct mpr_estimate_state mpr_estimates_at_peak(const struct mpr_estimates *e,
                                                const struct mpr_accounts *accounts, uint32_t cell);

/* Return the bytes that a cell's sampled blocks represent now, without their own, and the variance
 * of these in mpr_estimates_units. */
uint64_t mpr_estimates_bytes_now(const struct mpr_estimates *e, uint32_t cell);
uint64_t mpr_estimates_variance_now(const struct mpr_estimates *e,
                                    const struct mpr_accounts *accounts, uint32_t cell);
/* Converts a variance of the heap's bytes to units of mean^2 / 4096, because a small sampled block
 * then has about 4096 units. */
uint64_t mpr_estimates_units(const struct mpr_estimates *e, uint8_t heap, double variance);

/* The sum of a heap's estimates at an instant, and the known value of that sum. */
struct mpr_represented_sum {
    double known, estimated, variance; /* bytes; bytes^2 */
    bool is_theirs;                    /* `known` is the sum of these estimates */
};
/* Returns true if the estimated and the known sum differ by chance: the estimate is larger, or
 * smaller by at most three standard deviations of samples of the known sum. */
bool mpr_estimates_are_by_chance(const struct mpr_represented_sum *sum);
/* Returns the factor that scales the estimates to the known sum if they differ by chance. */
double mpr_estimates_factor(const struct mpr_represented_sum *sum);
/* Returns the variance, after scaling, of a part of the sum that has @bytes with the variance @own.
 * That of a share f of the sum depends on its own blocks and on all others: (1 - 2f) own + f^2 all.
 * A site without a sample is missing in the sum, so one sample of @mean bytes is added to it. */
struct mpr_variance mpr_estimates_scaled_variance(const struct mpr_represented_sum *sum,
                                                  double bytes, double own, double mean);

/* Estimated numbers of blocks, whose sum is at most the known number.  An excess is subtracted from
 * each number n in proportion to its variance, which is n^2 / samples for blocks of similar size.
 * So a single sampled block of a few bytes, which represents thousands, does not reduce the others.
 */
struct mpr_estimated_blocks {
    double known, factor; /* factor: of the bytes, because the mean size does not change */
    double sum, variance; /* without the factor */
};
/* Adds a number.  `known` and `factor` may be set later. */
void mpr_estimates_add_blocks(struct mpr_estimated_blocks *all, double blocks, uint64_t samples);
/* Returns the scaled number. */
double mpr_estimates_blocks(const struct mpr_estimated_blocks *all, double blocks,
                            uint64_t samples);

/* How a heap's estimates are scaled. */
struct mpr_estimate_scale {
    double bytes, end;              /* factors; end: of the bytes at the end of the log */
    struct mpr_represented_sum sum; /* at the peak */
    struct mpr_estimated_blocks blocks, end_blocks, allocations;
};
/* @rest: the cell with the blocks that the samples represent. */
struct mpr_estimate_scale mpr_estimates_scale(const struct mpr_estimates *e,
                                              const struct mpr_accounts *accounts,
                                              const struct mpr_cell *rest);

/* Returns the rounded number, or 0 if it is negative.  The rounding error, *error (0 at first), is
 * added to the next number, so that all numbers add up to the rounded sum. */
static inline uint64_t mpr_estimates_whole(double number, double *error)
{
    if (number < 0) number = 0;
    const uint64_t whole = (uint64_t)(number + *error + 0.5);
    *error += number - (double)whole;
    return whole;
}

#endif
