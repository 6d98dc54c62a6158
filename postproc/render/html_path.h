/* A path in the page's data.  Private to this layer. */
#ifndef MPR_HTML_PATH_H
#define MPR_HTML_PATH_H

#include "group.h"
#include "json.h"

/* What has no path is called as tables by that group call it. */
void mpr_html_path(struct mpr_json *j, struct mpr_path path, enum mpr_group by);

#endif
