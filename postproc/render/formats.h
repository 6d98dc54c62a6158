/* The writers of timelines and call trees, which are not documents: a timeline has too many records
 * to hold them all as rows, and a call tree is drawn by depth.  Private to this layer. */
#ifndef MPR_FORMATS_H
#define MPR_FORMATS_H

#include "calltree.h"
#include "render.h"
#include "timeline.h"

void mpr_timeline_text(FILE *out, const struct mpr_timeline *t, const struct mpr_style *style);
void mpr_timeline_json(FILE *out, const struct mpr_timeline *t, const struct mpr_style *style);
void mpr_timeline_csv(FILE *out, const struct mpr_timeline *t, const struct mpr_style *style);
void mpr_timeline_folded(FILE *out, const struct mpr_timeline *t, const struct mpr_style *style);

void mpr_stacks_text(FILE *out, const struct mpr_calltree *t, const struct mpr_style *style);
void mpr_stacks_json(FILE *out, const struct mpr_calltree *t, const struct mpr_style *style);
void mpr_stacks_csv(FILE *out, const struct mpr_calltree *t, const struct mpr_style *style);
void mpr_stacks_folded(FILE *out, const struct mpr_calltree *t, const struct mpr_style *style);

/* Returns for each call whether it is one of the `top` largest (0: all are shown).  A call above a
 * shown one is also shown because it is at least as large.  The caller frees the array. */
bool *mpr_stacks_shown(const struct mpr_calltree *t, size_t top);
/* Returns true if a call has the same bytes as the call above it, so that it does not show them. */
bool mpr_stacks_continues(const struct mpr_calltree *t, size_t i);

struct mpr_omitted {
    size_t stacks;
    uint64_t bytes;
};
/* Calls `each` for the `top` largest stacks (0: all) in the order of the tree, and returns what it
 * left out.  The path exists during the call only. */
struct mpr_omitted mpr_stacks_each(const struct mpr_calltree *t, size_t top,
                                   void (*each)(void *arg, const struct mpr_calltree *t,
                                                struct mpr_path path, uint64_t bytes,
                                                uint64_t blocks),
                                   void *arg);

#endif
