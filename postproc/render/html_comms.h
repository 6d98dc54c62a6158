/* NCCL's communicators, for the page.  Private to this layer. */
#ifndef MPR_HTML_COMMS_H
#define MPR_HTML_COMMS_H

#include "json.h"

struct mpr_insights;

/* Of each device that has any, as `peaks` lists them; NULL: none. */
void mpr_html_comms(struct mpr_json *j, const struct mpr_insights *insights);

#endif
