#include "json_summary.h"

#include "json_document.h"
#include "reports.h"

void mpr_json_known(struct mpr_json *j, const char *key, uint64_t value, uint64_t unknown)
{
    if (value == unknown) mpr_json_null(j, key);
    else mpr_json_number(j, key, value);
}

void mpr_json_summary(struct mpr_json *j, const struct mpr_summary *s)
{
    struct mpr_document doc = { 0 };
    mpr_report_log(&doc, s);
    mpr_json_document(j, &doc, 0);
    mpr_doc_free(&doc);
}
