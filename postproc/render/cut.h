/* Paths in a column of a table: cut in the middle if they are too wide, and no two look the same.
 *
 * The end of a path is its most useful part, then its beginning.  The caller (" <- caller") is left
 * out first. */
#ifndef MPR_CUT_H
#define MPR_CUT_H

#include <stddef.h>

#include "frame.h"

/* A path, or a text if the path's depth is 0, or an empty row if that is NULL.  caller: of the last
 * frame, or "".  lead: bytes at the beginning of the text that stay if there is room.  A cut path
 * begins with its innermost module. */
struct mpr_cut {
    struct mpr_path path;
    const char *text, *caller;
    size_t lead;
};

enum { MPR_CUT_FULL = 0 };

/* Returns a text for each path, escaped; the caller frees the texts and the array.  width: columns,
 * or MPR_CUT_FULL for unlimited. */
char **mpr_cut_paths(const struct mpr_cut *path, size_t paths, size_t width);
/* Returns the columns of the whole text with its caller. */
size_t mpr_cut_columns(const struct mpr_cut *path);

/* Returns a text of at most `width` columns, cut in the middle; the caller frees it. */
char *mpr_cut_text(const char *text, size_t width);
/* The same for a frame, escaped. */
char *mpr_cut_frame(const struct mpr_frame *frame, size_t width);

#endif
