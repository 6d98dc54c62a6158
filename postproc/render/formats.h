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
/* Returns for each call whether stacks end in it that are among the `top` largest (0: all).  The
 * caller frees the array. */
bool *mpr_stacks_ending(const struct mpr_calltree *t, size_t top);

#endif
