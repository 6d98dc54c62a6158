/* Fields of CSV (RFC 4180). */
#ifndef MPR_CSV_H
#define MPR_CSV_H

#include <stddef.h>
#include <stdio.h>

#include "frame.h"

/* Quotes doubled, invalid UTF-8 as U+FFFD, what must not be shown as \xNN or \u{NNNN}; an
 * apostrophe before what would begin a formula (= + - @). */
void mpr_csv_field(FILE *out, const char *text);
/* The elements joined by " > ". */
void mpr_csv_path(FILE *out, struct mpr_path path);

#endif
