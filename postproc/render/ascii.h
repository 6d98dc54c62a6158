/* Text for a terminal that knows no UTF-8.  */
#ifndef MPR_ASCII_H
#define MPR_ASCII_H

#include <stdio.h>

/* Writes UTF-8 text in ASCII: charts and ellipses keep their columns, other characters appear as
 * \u{NNNN}. */
void mpr_ascii_write(FILE *out, const char *text);

#endif
