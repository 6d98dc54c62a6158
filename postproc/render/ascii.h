/* Text for a terminal that knows no UTF-8.  */
#ifndef MPR_ASCII_H
#define MPR_ASCII_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Writes UTF-8 text in ASCII: charts and ellipses keep their columns, other characters appear as
 * \u{NNNN}. */
void mpr_ascii_write(FILE *out, const char *text);
/* Columns that a character takes then. */
size_t mpr_ascii_width(uint32_t code);

#endif
