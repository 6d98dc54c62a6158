/* Common functions of the text renderer.  Private to this layer. */
#ifndef MPR_TEXT_H
#define MPR_TEXT_H

#include <stddef.h>
#include <stdio.h>

#include "document.h"
#include "render.h"

struct mpr_choice;
struct mpr_summary;
struct mpr_timeline;

void mpr_timeline_text(FILE *out, const struct mpr_timeline *t, const struct mpr_style *style);
void mpr_text_table(FILE *out, const struct mpr_table *table, const struct mpr_style *style);
void mpr_text_tone(FILE *out, const struct mpr_style *style, enum mpr_tone tone);

/* Writes the lines above every report: the log's process, what is missing in the log, and what
 * "auto" means if @choice is not NULL. */
void mpr_text_log(FILE *out, const struct mpr_summary *summary, const struct mpr_choice *choice,
                  const struct mpr_style *style);

/* A line that is being written and may wrap. */
struct mpr_wrap {
    FILE *out;
    size_t width;  /* of lines, 0 for unlimited */
    size_t hang;   /* indentation of continuation lines */
    size_t column; /* the current end of the line */
};

/* Adds an escaped text to the line.  Words are never broken, nor short phrases that have two blanks
 * on both sides.  A word that is too wide for any line stays whole, because it may be a path that
 * the user copies. */
void mpr_text_wrap(struct mpr_wrap *wrap, const char *text);

/* ---- paths in a column of a table (cut.c): cut in the middle if they are too wide, and no two
 * look the same
 *
 * The end of a path is its most useful part, then its beginning. */

enum { MPR_CUT_FULL = 0 };

/* Returns a text for each value, which is a path, an escaped text, or NULL for an empty row.  The
 * caller frees the texts and the array.  @width: columns, or MPR_CUT_FULL for unlimited. */
char **mpr_cut_paths(const struct mpr_value *value, size_t values, size_t width);
/* Returns the width of the whole text with its caller. */
size_t mpr_full_width(const struct mpr_value *value);

/* Returns a frame's text of at most `width` columns, escaped; the caller frees it. */
char *mpr_cut_frame(const struct mpr_frame *frame, size_t width);

/* ---- one text (snip.c)
 *
 * The least useful piece is omitted.  Most useful are the innermost place ("t.py:12") and the last
 * name of a path of modules.  Next are sets of numbers ("{0..15}"), which are never cut, then the
 * end, the beginning, and whole names. */

/* Byte offsets; empty if from == to. */
struct mpr_piece {
    size_t from, to;
};

/* The parts of a path's text. */
struct mpr_parts {
    size_t last;             /* beginning of the last frame */
    struct mpr_piece place;  /* "(t.py:12)", the innermost */
    struct mpr_piece method; /* "forward" of "Linear.forward", in the last frame */
    struct mpr_piece module; /* ".up_proj]" of "[layers.3.mlp.up_proj]", in the last frame */
};

/* Returns a text of at most @width columns, which the caller frees.
 * @parts: NULL for a plain text
 * @marked: by byte of the text: not 0 if it must stay; or NULL */
char *mpr_snip(const char *text, const struct mpr_parts *parts, size_t width,
               const unsigned char *marked);

#endif
