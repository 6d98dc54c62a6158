/* No document: what two runs differ by, for the page.  Private to this layer. */
#ifndef MPR_HTML_DIFFERENCES_H
#define MPR_HTML_DIFFERENCES_H

#include "json.h"

struct mpr_diff;
struct mpr_naming;

/* The accounts that changed, each with its largest rows as `diff` shows them; diff NULL: none. */
void mpr_html_differences(struct mpr_json *j, const struct mpr_diff *diff,
                          const struct mpr_naming *naming);

#endif
