/* What is worth a change in a log, for the page.  Private to this layer. */
#ifndef MPR_HTML_FINDINGS_H
#define MPR_HTML_FINDINGS_H

#include "json.h"

struct mpr_insights;
struct mpr_naming;

/* NULL: nobody asked. */
void mpr_html_findings(struct mpr_json *j, const struct mpr_insights *insights,
                       const struct mpr_naming *naming);

#endif
