/* One self-contained HTML file of one or more timelines (by MPR_GROUP_ALL). */
#ifndef MPR_HTML_H
#define MPR_HTML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct mpr_timeline;

/* False when memprof-report was built without the page. */
bool mpr_html_available(void);
/* Errors of writing are the stream's. */
void mpr_html_write(FILE *out, const struct mpr_timeline *timeline, size_t count);

#endif
