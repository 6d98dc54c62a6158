/* The formats of call stacks.  Private to this layer. */
#ifndef MPR_CALLTREES_H
#define MPR_CALLTREES_H

#include "calltree.h"
#include "render.h"

void mpr_stacks_text(FILE *out, const struct mpr_calltree *t, const struct mpr_style *style);
void mpr_stacks_json(FILE *out, const struct mpr_calltree *t, const struct mpr_style *style);
void mpr_stacks_csv(FILE *out, const struct mpr_calltree *t, const struct mpr_style *style);
void mpr_stacks_folded(FILE *out, const struct mpr_calltree *t, const struct mpr_style *style);
/* Of each call whether it is among the `top` largest (0: all are), with those above it: what is
 * below another one is never larger. The caller frees it. */
bool *mpr_stacks_shown(const struct mpr_calltree *t, size_t top);

/* Of each call whether stacks end in it, and are among the `top` largest (0: all are).  The caller
 * frees it. */
bool *mpr_stacks_ending(const struct mpr_calltree *t, size_t top);

#endif
