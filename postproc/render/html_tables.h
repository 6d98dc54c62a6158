/* What the page shows without scripting.  Private to this layer. */
#ifndef MPR_HTML_TABLES_H
#define MPR_HTML_TABLES_H

#include <stdio.h>

#include "timeline.h"

/* Text of any origin, inert in HTML. */
void mpr_html_text(FILE *out, const char *text);
/* Whose log it is, in one line. */
void mpr_html_label(FILE *out, const struct mpr_timeline *timeline);
void mpr_html_tables(FILE *out, const struct mpr_timeline *timeline, size_t count);

#endif
