/* A text in so many columns: one piece of it is left out, that which tells least.
 *
 * The innermost place ("t.py:12") and the last of a path of modules stay before all else, then
 * folded numbers ("{0..15}"), which are seen whole or not at all, the end, the beginning, and whole
 * names. */
#ifndef MPR_SNIP_H
#define MPR_SNIP_H

#include <stddef.h>

/* As it is where it fits; the caller frees it.  marked: a byte for each of the text's, not 0 where
 * it must be seen; NULL: none. */
char *mpr_snip(const char *text, size_t width, const unsigned char *marked);

#endif
