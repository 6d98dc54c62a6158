/* A text in so many columns: one piece of it is left out, that which tells least.
 *
 * The innermost place ("t.py:12") and the last of a path of modules stay before all else, then
 * folded numbers ("{0..15}"), which are seen whole or not at all, the end, the beginning, and whole
 * names. */
#ifndef MPR_SNIP_H
#define MPR_SNIP_H

#include <stddef.h>

/* Bytes of a text; empty if from == to. */
struct mpr_piece {
    size_t from, to;
};

/* The parts of a path's text. */
struct mpr_parts {
    size_t last;             /* begin of the last frame */
    struct mpr_piece place;  /* "(t.py:12)", the innermost */
    struct mpr_piece method; /* "forward" of "Linear.forward", in the last frame */
    struct mpr_piece module; /* ".up_proj]" of "[layers.3.mlp.up_proj]", in the last frame */
    struct mpr_piece caller; /* " <- main" */
};

/* As it is where it fits; the caller frees it.  parts: NULL for a plain text.  marked: a byte for
 * each of the text's, not 0 where it must be seen; NULL: none. */
char *mpr_snip(const char *text, const struct mpr_parts *parts, size_t width,
               const unsigned char *marked);

#endif
