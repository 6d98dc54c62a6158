/* A document's tables for a terminal.  Private to this layer. */
#ifndef MPR_TEXT_DOCUMENT_H
#define MPR_TEXT_DOCUMENT_H

#include <stdio.h>

#include "document.h"
#include "render.h"

void mpr_text_table(FILE *out, const struct mpr_table *table, const struct mpr_style *style);

#endif
