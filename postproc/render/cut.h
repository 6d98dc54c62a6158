/* Paths in a column of a table: cut in their middle where they are too wide, and no two of them
 * alike.
 *
 * The end of a path tells most, then its beginning.  The caller behind it (" <- caller") goes
 * first. */
#ifndef MPR_CUT_H
#define MPR_CUT_H

#include <stddef.h>

/* whole: the path as it is shown where there is room; NULL: none.  front: "" or what stands before
 * it where it is cut and does not show it. caller: "" or what called it.  lead: bytes of the whole
 * that stay where it is cut, and room for what follows. */
struct mpr_cut {
    const char *whole, *front, *caller;
    size_t lead;
};

enum { MPR_CUT_FULL = 0 };

/* One text a path, harmless as its parts were; the caller frees each, and the array.  width:
 * columns; MPR_CUT_FULL: all that it takes. */
char **mpr_cut_paths(const struct mpr_cut *path, size_t paths, size_t width);

/* A text of that width at most, cut in its middle; the caller frees it. */
char *mpr_cut_text(const char *text, size_t width);

#endif
