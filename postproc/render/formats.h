/* Functions that the formats share.  Private to this layer. */
#ifndef MPR_FORMATS_H
#define MPR_FORMATS_H

#include <stdio.h>

#include "calltree.h"
#include "document.h"
#include "render.h"
#include "timeline.h"

/* The writers of timelines and call trees, which are not documents: a timeline has too many records
 * to hold them all as rows, and a call tree is drawn by depth. */
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

/* ---- text */

void mpr_text_table(FILE *out, const struct mpr_table *table, const struct mpr_style *style);
void mpr_text_tone(FILE *out, const struct mpr_style *style, enum mpr_tone tone);

/* Writes the lines above every report: whose log it is, what is missing, and what "auto" means if
 * choice is not NULL. */
void mpr_text_log(FILE *out, const struct mpr_summary *summary, const struct mpr_choice *choice,
                  const struct mpr_style *style);

/* A line that is being written and may wrap.  width: of lines; 0: unlimited.  hang: indentation of
 * continuation lines.  column: the current end of the line. */
struct mpr_wrap {
    FILE *out;
    size_t width, hang, column;
};

/* Adds an escaped text to the line.  It never breaks words, or short phrases between two blanks and
 * two blanks.  A word that is too wide for any line stays whole because it may be a path that the
 * user copies. */
void mpr_text_wrap(struct mpr_wrap *wrap, const char *text);

#endif
