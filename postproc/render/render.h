/* Renderers: each writes finished results in one format.  A new format is one new file and one line in render.c. */
#ifndef MPR_RENDER_H
#define MPR_RENDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct mpr_peaks;
struct mpr_info;
struct mpr_verify;
struct mpr_timeline;
struct mpr_graphs;
struct mpr_segments;
struct mpr_ooms;
struct mpr_calltree;

struct mpr_style {
    bool color;
    int path;           /* columns of a path in a table, 40 or more */
    size_t top;         /* rows of each table at most; 0: the format's default */
};

struct mpr_renderer {
    const char *name;
    void (*peaks)(FILE *out, const struct mpr_peaks *peaks, const struct mpr_style *style);
    void (*info)(FILE *out, const struct mpr_info *info, const struct mpr_style *style);
    void (*verify)(FILE *out, const struct mpr_verify *verify, const struct mpr_style *style);
    void (*timeline)(FILE *out, const struct mpr_timeline *timeline, const struct mpr_style *style);
    void (*graphs)(FILE *out, const struct mpr_graphs *graphs, const struct mpr_style *style);
    void (*segments)(FILE *out, const struct mpr_segments *segments, const struct mpr_style *style);
    void (*ooms)(FILE *out, const struct mpr_ooms *ooms, const struct mpr_style *style);     /* NULL: not in this format */
    void (*stacks)(FILE *out, const struct mpr_calltree *tree, const struct mpr_style *style);      /* the same */
};

extern const struct mpr_renderer mpr_render_text, mpr_render_json, mpr_render_csv;

/* NULL for an unknown name. */
const struct mpr_renderer *mpr_render_find(const char *name);

#endif
