/* Cuts a text to a number of columns by leaving out its least useful piece.
 *
 * The innermost place ("t.py:12") and the last name of a path of modules are worth most.  Next are
 * folded numbers ("{0..15}"), which are never cut, then the end, the beginning, and whole names. */
#ifndef MPR_SNIP_H
#define MPR_SNIP_H

#include <stddef.h>

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
    struct mpr_piece caller; /* " <- main" */
};

/* Returns the text itself if it fits; the caller frees it.  parts: NULL for a plain text.  marked:
 * by byte of the text, not 0 if it must stay; NULL for none. */
char *mpr_snip(const char *text, const struct mpr_parts *parts, size_t width,
               const unsigned char *marked);

#endif
