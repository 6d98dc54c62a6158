/* What grew between two instants, for a terminal.  Private to this layer. */
#ifndef MPR_GROWTH_TEXT_H
#define MPR_GROWTH_TEXT_H

#include <stdio.h>

#include "ooms.h"
#include "render.h"

enum { MPR_GROWTH_ROWS = 10 };

/* The rest of a line: "6.77 GiB ->  7.41 GiB  +0.64 GiB". */
void mpr_growth_change(FILE *out, int64_t before, int64_t after);
void mpr_growth_rows(FILE *out, const struct mpr_growth *growth, const struct mpr_style *style);

#endif
