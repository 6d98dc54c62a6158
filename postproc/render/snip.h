/* A text in so many columns: one piece of it is left out, that which tells least.
 *
 * Folded numbers ("{0..15}") and the innermost place ("t.py:12") stay before all else, then the
 * end, the beginning, and whole names. */
#ifndef MPR_SNIP_H
#define MPR_SNIP_H

#include <stddef.h>

/* As it is where it fits; the caller frees it.  marked: a byte for each of the text's, not 0 where
 * it must be seen; NULL: none. */
char *mpr_snip(const char *text, size_t width, const unsigned char *marked);

#endif
