#include "render.h"

#include "formats.h"

const struct mpr_renderer mpr_render_text = { mpr_text_document, mpr_timeline_text };
const struct mpr_renderer mpr_render_json = { mpr_json_report, mpr_timeline_json };
const struct mpr_renderer mpr_render_csv = { mpr_csv_report, mpr_timeline_csv };
const struct mpr_renderer mpr_render_folded = { mpr_folded_report, mpr_timeline_folded };
