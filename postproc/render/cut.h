/* Paths in a column of a table: cut in their middle where they are too wide, and no two of them
 * alike.
 *
 * The end of a path is the most useful part, then its beginning. The caller (" <- caller") is left
 * out first. */
#ifndef MPR_CUT_H
#define MPR_CUT_H

#include <stddef.h>

#include "frame.h"

/* A path, or if its depth is 0 a text; if that is NULL the row is empty. caller: the caller of the
 * last frame, or "". lead: bytes at the beginning of the text that stay if there is room. A path
 * that is cut begins with its innermost module. */
struct mpr_cut {
    struct mpr_path path;
    const char *text, *caller;
    size_t lead;
};

enum { MPR_CUT_FULL = 0 };

/* One text a path, harmless; the caller frees each, and the array.  width: columns; MPR_CUT_FULL:
 * all that it takes. */
char **mpr_cut_paths(const struct mpr_cut *path, size_t paths, size_t width);
/* Columns of the whole text with its caller. */
size_t mpr_cut_columns(const struct mpr_cut *path);

/* A text of that width at most, cut in its middle; the caller frees it. */
char *mpr_cut_text(const char *text, size_t width);
/* The same for a frame; the text is harmless. */
char *mpr_cut_frame(const struct mpr_frame *frame, size_t width);

#endif
