/* Renderers: each writes any document in one format. */
#ifndef MPR_RENDER_H
#define MPR_RENDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct mpr_document;
struct mpr_timeline;
struct mpr_calltree;
struct mpr_naming;

struct mpr_style {
    bool color;
    int width;                       /* columns of a line; 0: as many as it takes */
    const struct mpr_naming *naming; /* how paths are shown; NULL: as they are */
    bool clock;                      /* times are of the clock: for what is no document */
    size_t top;                      /* rows of each table at most; 0: the format's default */
};

struct mpr_renderer {
    const char *name;
    void (*document)(FILE *out, const struct mpr_document *doc, const struct mpr_style *style);
    /* What is no document, and why, their files say. */
    void (*timeline)(FILE *out, const struct mpr_timeline *timeline, const struct mpr_style *style);
    void (*stacks)(FILE *out, const struct mpr_calltree *tree, const struct mpr_style *style);
};

extern const struct mpr_renderer mpr_render_text, mpr_render_json, mpr_render_csv,
    mpr_render_folded;

/* NULL for an unknown name. */
const struct mpr_renderer *mpr_render_find(const char *name);

void mpr_text_document(FILE *out, const struct mpr_document *doc, const struct mpr_style *style);
void mpr_json_report(FILE *out, const struct mpr_document *doc, const struct mpr_style *style);
void mpr_csv_report(FILE *out, const struct mpr_document *doc, const struct mpr_style *style);
void mpr_folded_report(FILE *out, const struct mpr_document *doc, const struct mpr_style *style);

#endif
