/* The destination and the looks of a command's output: the options --output, --format, --top,
 * --width, --color, --clock, --frames, --unfold and --plumbing. */
#ifndef MPR_OUTPUT_H
#define MPR_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "arena.h"
#include "document.h"
#include "file.h"
#include "naming.h"
#include "options.h"
#include "render.h"

/* The open output of a command: standard output, a file that replaces the old one once it is whole
 * (file.h), or a pipe, a device or an open file that is written in place.  A process has one
 * at a time. */
struct mpr_destination {
    FILE *file;
    const char *path;              /* NULL for standard output */
    struct mpr_atomic_file atomic; /* fd is -1 if the output is written in place */
};

/* @path: "-" or NULL for standard output.  Returns 0, or -1 after a message on stderr. */
int mpr_destination_open(struct mpr_destination *d, const char *path);
/* Publishes what was written so far; later writes are appended.  Returns 0, or -1. */
int mpr_destination_publish(struct mpr_destination *d);
/* Closes the output.  The old file stays if @publish is false or a write failed.  Returns 0, or -1
 * after a message on stderr. */
int mpr_destination_close(struct mpr_destination *d, bool publish);

enum { MPR_WIDTH_AUTO = -1 };

struct mpr_output {
    const struct mpr_renderer *renderer;
    struct mpr_style style;
    enum mpr_output_color { MPR_COLOR_AUTO, MPR_COLOR_ALWAYS, MPR_COLOR_NEVER } color;
    int width; /* columns as in mpr_style, or MPR_WIDTH_AUTO */
    struct mpr_user_frames *user_frames;
    struct mpr_arena patterns; /* texts of --plumbing */
    struct mpr_naming naming;
    bool for_tools;   /* programs read this text, so it is UTF-8 in every locale */
    bool has_stacks;  /* rows have call stacks or ranges, which --format=folded needs */
    const char *path; /* NULL for standard output */
    struct mpr_destination to;
};

/* The table of options; its members are those of struct mpr_output. */
extern const struct mpr_option mpr_output_options[];
struct mpr_output mpr_output_default(void);
void mpr_output_free(struct mpr_output *output);
/* Sets a path, or NULL for "-". */
mpr_set_option mpr_set_output_path;
/* Returns NULL for "-", which is standard output, else @path. */
const char *mpr_output_path(const char *path);
/* Returns true with --clock=wall: reports print times of day, and options take them. */
bool mpr_output_clock(void);

/* Opens the output.  Returns 0, or -1 after a message on stderr.  Until it is closed, the old file
 * stays. */
int mpr_output_open(struct mpr_output *output);
int mpr_output_close(struct mpr_output *output);

/* Begins a document that the caller describes next.  Ends with one of the next two functions. */
void mpr_output_begin(const struct mpr_output *output, struct mpr_document *doc);
/* Opens the output, renders the document, closes both.  Returns the command's exit status. */
int mpr_output_document(struct mpr_output *output, struct mpr_document *doc, bool incomplete);
/* Renders the document as text for an output that is open, and frees it.  The caller frees the
 * text. */
char *mpr_output_text(const struct mpr_output *output, struct mpr_document *doc);

/* Opens the output, lets @render write a result that is not a document, closes the output.  Returns
 * the command's exit status. */
typedef void mpr_render_result(const struct mpr_renderer *renderer, FILE *out, const void *result,
                               const struct mpr_style *style);
int mpr_output_report(struct mpr_output *output, mpr_render_result *render, const void *result,
                      bool incomplete);

#endif
