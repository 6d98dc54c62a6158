/* Which instances stand out, for the page.  Private to this layer. */
#ifndef MPR_HTML_STEPS_H
#define MPR_HTML_STEPS_H

#include "json.h"

struct mpr_naming;
struct mpr_steps;

/* "steps", NULL: null. */
void mpr_html_steps(struct mpr_json *j, const struct mpr_steps *steps,
                    const struct mpr_naming *naming);

#endif
