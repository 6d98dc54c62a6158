/* Renderers: each writes documents and timelines in one format.  The caller checks the stream for
 * errors. */
#ifndef MPR_RENDER_H
#define MPR_RENDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct mpr_calltree;
struct mpr_check;
struct mpr_document;
struct mpr_naming;
struct mpr_timeline;

struct mpr_style {
    bool color;
    int width;                       /* columns of a line, or 0 for unlimited */
    const struct mpr_naming *naming; /* shortens paths; NULL shows whole paths */
    bool clock; /* times are times of day, in timelines and call trees; a document has its own */
    size_t top; /* maximum number of rows of each table, or 0 for the format's default */
};

/* A timeline is not a document, because it may have too many records for rows. */
struct mpr_renderer {
    void (*document)(FILE *out, const struct mpr_document *doc, const struct mpr_style *style);
    void (*timeline)(FILE *out, const struct mpr_timeline *timeline, const struct mpr_style *style);
};

extern const struct mpr_renderer mpr_render_text, mpr_render_json, mpr_render_csv,
    mpr_render_folded;

/* Writes the limits of `check` as test cases in JUnit's XML, which CI services read. */
void mpr_junit_write(FILE *out, const struct mpr_check *check, const struct mpr_naming *naming);

void mpr_text_document(FILE *out, const struct mpr_document *doc, const struct mpr_style *style);
void mpr_json_report(FILE *out, const struct mpr_document *doc, const struct mpr_style *style);
void mpr_csv_report(FILE *out, const struct mpr_document *doc, const struct mpr_style *style);
/* Draws a tree of call stacks, which is a document in other formats (mpr_report_tree). */
void mpr_stacks_text(FILE *out, const struct mpr_calltree *tree, const struct mpr_style *style);

/* Writes UTF-8 text in ASCII, for a terminal without UTF-8.  Characters of charts and ellipses are
 * replaced by ASCII characters of the same width, and all others by \u{NNNN}. */
void mpr_ascii_write(FILE *out, const char *text);
/* Returns the columns of a character in such output. */
size_t mpr_ascii_width(uint32_t code);

#endif
