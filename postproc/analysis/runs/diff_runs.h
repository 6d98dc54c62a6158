/* What a run has of an account.  Private to this layer. */
#ifndef MPR_DIFF_RUNS_H
#define MPR_DIFF_RUNS_H

#include "diff.h"
#include "mpf/event.h"

struct mpr_diff_entry {
    struct mpr_path path;
    int64_t bytes;
    bool estimated;
    double variance;
};

struct mpr_diff_run {
    struct mpr_diff_entry *entry;
    size_t entries;
    int64_t total;   /* of the entries' bytes */
    double variance; /* of the total: 0 where that is exact */
};

/* What a run's devices are called: as the first run's, where they are one. */
struct mpr_diff_devices {
    unsigned number[MPF_GPUS]; /* by the run's own */
};
/* Fills diff->devices[run], and says what is worth a note. */
void mpr_diff_devices_match(struct mpr_diff *diff, size_t run);
/* What a heap of the run is called. */
uint8_t mpr_diff_heap(const struct mpr_diff *diff, size_t run, uint8_t heap);

/* Of the sides, by the runs' bytes. */
struct mpr_spread mpr_diff_spread(const int64_t *bytes, size_t runs, int64_t is);
/* Two runs that lie in both sides' spreads may have either. */
bool mpr_diff_is_noise(const struct mpr_diff *diff, const struct mpr_spread *base,
                       const struct mpr_spread *now);
/* What samples say differs by twice the standard error or less.  Of what is exact nothing is. */
bool mpr_diff_is_sampling(int64_t change, double variance);

#endif
