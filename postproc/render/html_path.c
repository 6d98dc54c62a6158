#include "html_path.h"

void mpr_html_path(struct mpr_json *j, const char *const *path, size_t depth, enum mpr_group by)
{
    const char *const nowhere = mpr_group_nowhere(by);
    mpr_json_path(j, "path", depth ? path : &nowhere, depth ? depth : 1);
}
