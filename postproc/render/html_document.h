/* A document's lines and tables as HTML that needs no scripting.  Private to this layer. */
#ifndef MPR_HTML_DOCUMENT_H
#define MPR_HTML_DOCUMENT_H

#include <stdio.h>

#include "document.h"
#include "render.h"

/* Text of any origin, inert in HTML. */
void mpr_html_text(FILE *out, const char *text);
void mpr_html_document(FILE *out, const struct mpr_document *doc, const struct mpr_style *style);

#endif
