/* The HTML page: one self-contained file of one or more timelines (by MPR_GROUP_ALL). */
#ifndef MPR_HTML_H
#define MPR_HTML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct mpr_diff;
struct mpr_document;
struct mpr_insights;
struct mpr_naming;
struct mpr_ooms;
struct mpr_process_tree;
struct mpr_ranks;
struct mpr_style;
struct mpr_timeline;
struct mpr_verdict;

struct mpr_page {
    const struct mpr_timeline *timeline;
    size_t count;
    const struct mpr_insights *const *insights; /* by timeline; an entry is NULL if not computed */
    const struct mpr_ooms *ooms;                /* of the logs whose memory ran out */
    const struct mpr_diff *diff;                /* between timelines `base` and `now`, or NULL */
    const struct mpr_verdict *verdict;          /* on these two, or NULL */
    size_t base, now;
    const struct mpr_ranks *ranks; /* the job of the timelines, or NULL */
    size_t opened; /* the timeline that the page opens with, if it does not compare two */
    const struct mpr_process_tree *tree; /* by timeline */
    const bool *alike;  /* by timeline: it is one of those that are compared with each other */
    uint8_t differs_in; /* of more than two timelines, the heap in which they differ most */
    const struct mpr_naming *naming; /* of rows */
};

/* Returns false if memprof-report was built without the page. */
bool mpr_html_available(void);
/* Output errors stay in the stream. */
void mpr_html_write(FILE *out, const struct mpr_page *page);

/* Writes a document's lines and tables as HTML that needs no scripts. */
void mpr_html_document(FILE *out, const struct mpr_document *doc, const struct mpr_style *style);
/* Writes text of any origin so that HTML takes none of it for markup. */
void mpr_html_text(FILE *out, const char *text);

#endif
