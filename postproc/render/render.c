#include "render.h"

#include <string.h>

#include "formats.h"

const struct mpr_renderer mpr_render_text = { "text", mpr_text_document, mpr_timeline_text,
                                              mpr_stacks_text };
const struct mpr_renderer mpr_render_json = { "json", mpr_json_report, mpr_timeline_json,
                                              mpr_stacks_json };
const struct mpr_renderer mpr_render_csv = { "csv", mpr_csv_report, mpr_timeline_csv,
                                             mpr_stacks_csv };
const struct mpr_renderer mpr_render_folded = { "folded", mpr_folded_report, mpr_timeline_folded,
                                                mpr_stacks_folded };

const struct mpr_renderer *mpr_render_find(const char *name)
{
    static const struct mpr_renderer *const all[] = { &mpr_render_text, &mpr_render_json,
                                                      &mpr_render_csv, &mpr_render_folded };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i]->name, name) == 0) return all[i];
    return NULL;
}
