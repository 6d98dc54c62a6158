/* The two runs that a verdict compares, and what its rules need of them.  Private to verdict*.c. */
#ifndef MPR_VERDICT_RULES_H
#define MPR_VERDICT_RULES_H

#include "verdict.h"

/* The least size of a difference: CHANGE_BYTES, or a tenth of the largest peak if that is not less
 * than SMALL_BYTES. */
enum { MPR_CHANGE_BYTES = 64 << 20, MPR_CHANGE_SHARE = 10, MPR_CHANGE_SMALL_BYTES = 4 << 20 };

struct mpr_comparison {
    struct mpr_verdict *out;
    const struct mpr_diff *diff;
    const struct mpr_naming *naming;
    size_t run[2];
    const struct mpr_log_peaks *log[2];
    const struct mpr_insights *insights[2]; /* both, or none */
    uint64_t largest_peak;                  /* of all heaps */
    bool is_noise;                          /* a difference that counts was noise */
    struct {
        bool is_noise;                /* the difference counts, but is noise */
        struct mpr_sides step_spread; /* as in struct mpr_verdict */
    } heap[UINT8_MAX + 1];
};

/* Returns 0 for a negative number. */
static inline uint64_t mpr_sides_positive(int64_t bytes) { return bytes > 0 ? (uint64_t)bytes : 0; }

static inline struct mpr_sides mpr_sides_of(const struct mpr_diff_row *r)
{
    return (struct mpr_sides){ mpr_sides_positive(r->base.bytes),
                               mpr_sides_positive(r->now.bytes) };
}

/* Returns true if both change in the same direction. */
static inline bool mpr_sides_agree(struct mpr_sides a, struct mpr_sides b)
{
    return (a.now > a.base) == (b.now > b.base);
}

/* Returns true if a difference of a part of @peak is large enough to be stated. */
static inline bool mpr_change_counts(const struct mpr_comparison *c, struct mpr_sides bytes,
                                     struct mpr_sides peak)
{
    const uint64_t change = mpr_sides_distance(bytes);
    return change >= MPR_CHANGE_SMALL_BYTES && change >= mpr_sides_larger(peak) / 100 &&
           (change >= MPR_CHANGE_BYTES || change >= c->largest_peak / MPR_CHANGE_SHARE);
}

/* The change is valid until the next one is added. */
struct mpr_change *mpr_change_add(struct mpr_comparison *c, enum mpr_change_kind kind,
                                  const char *key, uint8_t heap, struct mpr_sides bytes,
                                  struct mpr_sides peak);
/* Sets the owner to the account's row with the largest change in the direction of the change. */
void mpr_change_name_by_account(struct mpr_comparison *c, struct mpr_change *change,
                                const struct mpr_diff_account *a);
/* The same by the rows of a role.  @share: of the two sides; NULL: unknown. */
void mpr_change_name_by_role(struct mpr_comparison *c, struct mpr_change *change,
                             const struct mpr_role_share *const *share);

/* @heap: as the base numbers devices. */
/* Returns the largest finding of the heap on one side, or NULL. */
const struct mpr_finding *mpr_comparison_finding(const struct mpr_comparison *c, size_t side,
                                                 enum mpr_finding_kind kind, uint8_t heap);
/* Returns the roles of the heap's blocks on one side, or NULL. */
const struct mpr_breakdown_heap *mpr_comparison_roles(const struct mpr_comparison *c, size_t side,
                                                      uint8_t heap);
/* Returns true if PyTorch uses the device of the heap. */
bool mpr_comparison_has_torch(const struct mpr_comparison *c, uint8_t heap);

/* The rules.  Each adds a change if its difference counts. */
/* Compares the growth of a heap, and returns its bytes if the difference counts, or else zeros. */
struct mpr_sides mpr_compare_growth(struct mpr_comparison *c, const struct mpr_diff_account *a,
                                    struct mpr_sides peak);
/* Compares PyTorch's blocks by role.  @h: of the two sides; NULL: unknown.  Returns true if roles
 * that vary from step to step were left out, because their difference is noise. */
bool mpr_compare_roles(struct mpr_comparison *c, const struct mpr_diff_account *a,
                       struct mpr_sides peak, const struct mpr_breakdown_heap *const *h);
/* Compares memory of a device beyond live blocks.  After the heaps. */
void mpr_compare_device(struct mpr_comparison *c, const struct mpr_diff_account *a);

#endif
