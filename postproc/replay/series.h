/* A heap over time, in buckets: each holds the stack vector (bytes of every group) at the instant
 * of its maximum, so that the bands of a chart always sum to an exact total, whatever is zoomed
 * out.
 *
 * A bucket is 2^shift ns wide and there only if something changed in it, or the level that lasts
 * behind it is not the one at its maximum: then a quiet bucket follows.  With shift 0 every change
 * has its own bucket.  A vector is written as its changes against the one before.
 *
 * Invariant: where the next bucket's key is not the following one, the bucket is final: its vector
 * holds until then. */
#ifndef MPR_SERIES_H
#define MPR_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mpr_bucket {
    uint64_t key;             /* begins at key << shift */
    uint64_t time;            /* of the maximum, ns */
    uint64_t max, min, close; /* bytes; the minimum of what lasted */
    uint64_t allocs, frees;
    size_t end; /* its changes end here, those of the one before begin it */
    bool final; /* the maximum is the last state */
};

struct mpr_change {
    uint32_t group;
    uint64_t bytes;
};

struct mpr_series {
    unsigned shift;
    struct mpr_bucket *bucket;
    size_t buckets, bucket_cap;
    struct mpr_change *change;
    size_t changes, change_cap;
};

void mpr_series_free(struct mpr_series *s);
void mpr_series_bucket(struct mpr_series *s, const struct mpr_bucket *bucket);
void mpr_series_change(struct mpr_series *s, uint32_t group, uint64_t bytes);
/* Makes buckets 2^by times as wide; 0 joins those of one key.  upto: when the level ends that lasts
 * behind the last bucket, or when the next one begins; ns.  place: scratch, one entry for each
 * group. */
void mpr_series_widen(struct mpr_series *s, unsigned by, uint64_t upto, size_t *place);

#endif
