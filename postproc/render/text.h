/* Functions that the parts of the text renderer share.  Private to this layer. */
#ifndef MPR_TEXT_H
#define MPR_TEXT_H

#include <stdio.h>

#include "document.h"
#include "render.h"

struct mpr_choice;
struct mpr_summary;
struct mpr_timeline;

void mpr_timeline_text(FILE *out, const struct mpr_timeline *t, const struct mpr_style *style);
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
