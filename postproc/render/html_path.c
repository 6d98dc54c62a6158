#include "html_path.h"

void mpr_html_path(struct mpr_json *j, struct mpr_path path, enum mpr_group by)
{
    const struct mpr_frame nowhere = { .text = mpr_group_nowhere(by) }, *const only = &nowhere;
    mpr_json_path(j, "path", path.depth ? path : mpr_frame_alone(&only));
}
