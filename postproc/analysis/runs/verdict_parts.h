/* Parts of the verdict on two sides.  Private to verdict*.c. */
#ifndef MPR_VERDICT_PARTS_H
#define MPR_VERDICT_PARTS_H

#include "verdict.h"

/* The least size of a difference: MPR_CHANGE_BYTES, or the share of the largest peak if that is not
 * less than MPR_CHANGE_SMALL_BYTES. */
enum { MPR_CHANGE_BYTES = 64 << 20, MPR_CHANGE_SHARE = 10, MPR_CHANGE_SMALL_BYTES = 4 << 20 };

/* The noise of a heap. */
struct mpr_heap_noise {
    bool is_noise;                /* the difference counts, but is noise */
    struct mpr_sides step_spread; /* as in struct mpr_verdict */
};

/* The two runs. */
struct mpr_comparison {
    struct mpr_verdict *out;
    const struct mpr_diff *diff;
    const struct mpr_naming *naming;
    size_t run[2];
    const struct mpr_log_peaks *log[2];
    const struct mpr_insights *insights[2];
    uint64_t largest_peak; /* of all heaps */
    bool is_noise;         /* a difference that counts was noise */
    struct mpr_heap_noise of_heap[UINT8_MAX + 1];
};

static inline uint64_t mpr_positive(int64_t bytes) { return bytes > 0 ? (uint64_t)bytes : 0; }
/* Returns true if both change in the same direction. */
static inline bool mpr_sides_agree(struct mpr_sides a, struct mpr_sides b)
{
    return (a.now > a.base) == (b.now > b.base);
}
struct mpr_sides mpr_account_sides(const struct mpr_diff_account *account);

/* Returns true if PyTorch uses the device of the heap. */
bool mpr_comparison_has_torch(const struct mpr_comparison *c, uint8_t heap);
/* Returns the roles of the heap's blocks on one side, or NULL. */
const struct mpr_breakdown_heap *mpr_comparison_roles(const struct mpr_comparison *c, size_t side,
                                                      uint8_t heap);

/* Returns true if a difference of a part of @peak is large enough to be stated. */
bool mpr_change_counts(const struct mpr_comparison *c, struct mpr_sides bytes,
                       struct mpr_sides peak);
/* The change is valid until the next one is added. */
struct mpr_change *mpr_change_add(struct mpr_comparison *c, enum mpr_change_kind kind,
                                  const char *key, uint8_t heap, struct mpr_sides bytes,
                                  struct mpr_sides peak);
/* Sets the owner to the row of the role that changed most.  @share: of both sides; may be NULL */
void mpr_change_name_by_role(struct mpr_comparison *c, struct mpr_change *change,
                             const struct mpr_role_share *const *share);

/* verdict_device.c: memory outside of heaps. */
void mpr_compare_device(struct mpr_comparison *c, const struct mpr_diff_account *account);
void mpr_compare_retention(struct mpr_comparison *c);

#endif
