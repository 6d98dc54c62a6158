/* Text for a terminal without UTF-8. */
#ifndef MPR_ASCII_H
#define MPR_ASCII_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Writes UTF-8 text in ASCII.  Characters of charts and ellipses are replaced by others of the same
 * width, and the rest appears as \u{NNNN}. */
void mpr_ascii_write(FILE *out, const char *text);
/* Returns the columns of a character in such output. */
size_t mpr_ascii_width(uint32_t code);

#endif
