/* Paths in a column of a table: cut in their middle where they are too wide, and no two of them
 * alike.
 *
 * The end of a path tells most, then its beginning.  The caller behind it (" <- caller") goes
 * first. */
#ifndef MPR_CUT_H
#define MPR_CUT_H

#include <stddef.h>

#include "frame.h"

/* path: of depth 0: the text is shown; NULL: nothing is.  caller: "" or what called the last name.
 * lead: bytes of the text that stay where it is cut, and room for what follows.  Where a path is
 * cut and does not show its innermost module, that stands before it. */
struct mpr_cut {
    struct mpr_path path;
    const char *text, *caller;
    size_t lead;
};

enum { MPR_CUT_FULL = 0 };

/* One text a path, harmless; the caller frees each, and the array.  width: columns; MPR_CUT_FULL:
 * all that it takes. */
char **mpr_cut_paths(const struct mpr_cut *path, size_t paths, size_t width);
/* Columns that it takes whole, with its caller. */
size_t mpr_cut_columns(const struct mpr_cut *path);

/* A text of that width at most, cut in its middle; the caller frees it. */
char *mpr_cut_text(const char *text, size_t width);
/* That of a frame, harmless. */
char *mpr_cut_frame(const struct mpr_frame *frame, size_t width);

#endif
