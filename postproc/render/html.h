/* One self-contained HTML file of one or more timelines (by MPR_GROUP_ALL). */
#ifndef MPR_HTML_H
#define MPR_HTML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct mpr_diff;
struct mpr_insights;
struct mpr_naming;
struct mpr_timeline;

struct mpr_page {
    const struct mpr_timeline *timeline;
    size_t count;
    const struct mpr_insights *const *insights; /* by timeline; of one NULL: nobody asked */
    const struct mpr_diff *diff; /* of two timelines, `now` against `base`; NULL: none */
    size_t base, now;
    const bool *alike;               /* by timeline: are they compared with each other? */
    uint8_t differs_in;              /* of more than two: the heap in which they differ most */
    const struct mpr_naming *naming; /* of its rows */
};

/* False when memprof-report was built without the page. */
bool mpr_html_available(void);
/* Errors of writing are the stream's. */
void mpr_html_write(FILE *out, const struct mpr_page *page);

#endif
