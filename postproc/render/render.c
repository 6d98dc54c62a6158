#include "render.h"

#include <string.h>

const struct mpr_renderer *mpr_render_find(const char *name)
{
    static const struct mpr_renderer *const all[] = { &mpr_render_text, &mpr_render_json, &mpr_render_csv };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (strcmp(all[i]->name, name) == 0) return all[i];
    }
    return NULL;
}
