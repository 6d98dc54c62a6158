#include "html_findings.h"

#include "insights.h"
#include "reports.h"

static void finding(struct mpr_json *j, struct mpr_document *doc, const struct mpr_insights *in,
                    const struct mpr_finding *f)
{
    mpr_json_open(j, NULL, '{');
    mpr_json_text(j, "finding", mpr_finding_keys[f->kind]);
    mpr_json_text(j, "where", f->where);
    mpr_json_number(j, "saves_at_most_bytes", f->bytes);
    mpr_json_flag(j, "estimated", f->about);
    mpr_json_text(j, "what", mpr_report_finding_words(doc, f));
    mpr_json_text(j, "change", f->change);
    mpr_json_text(j, "see", mpr_report_finding_command(doc, in, f));
    mpr_json_text(j, "heap", mpr_heap_name(f->heap));
    mpr_json_number(j, "time_ns", f->time);
    mpr_json_close(j, '}');
}

void mpr_html_findings(struct mpr_json *j, const struct mpr_insights *insights,
                       const struct mpr_naming *naming)
{
    struct mpr_document doc = { .naming = naming };
    if (!insights) {
        mpr_json_null(j, "findings");
        return;
    }
    mpr_json_open(j, "findings", '[');
    for (size_t i = 0; i < insights->findings; i++)
        finding(j, &doc, insights, &insights->finding[i]);
    mpr_json_close(j, ']');
    mpr_doc_free(&doc);
}
