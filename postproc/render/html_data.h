/* The page's data: JSON for what is small, blobs for what is large.  Private to this layer. */
#ifndef MPR_HTML_DATA_H
#define MPR_HTML_DATA_H

#include <stdio.h>

#include "html.h"

/* viewer/src/data.js reads it. */
void mpr_html_data(FILE *out, const struct mpr_page *page);

#endif
