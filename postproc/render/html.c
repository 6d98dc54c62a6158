#include "html.h"

#include <string.h>

#include "html_data.h"
#include "html_document.h"
#include "page.h"
#include "reports.h"
#include "timeline_result.h"

bool mpr_html_available(void) { return mpr_page_bytes != 0; }

/* Writes the template up to the place of that name; returns what follows it. */
static const char *until(FILE *out, const char *from, const char *place)
{
    const char *const end = mpr_page + mpr_page_bytes;
    const char *at = memmem(from, (size_t)(end - from), place, strlen(place));
    if (!at) at = end;
    fwrite(from, 1, (size_t)(at - from), out);
    return at == end ? end : at + strlen(place);
}

static void title(FILE *out, const struct mpr_timeline *timeline, size_t count)
{
    struct mpr_document doc = { 0 };
    mpr_html_text(out, mpr_report_label(&doc, &timeline[0].summary));
    if (count > 1) fprintf(out, " and %zu more", count - 1);
    mpr_doc_free(&doc);
}

static void tables(FILE *out, const struct mpr_timeline *timeline, size_t count)
{
    struct mpr_document doc = { 0 };
    for (size_t i = 0; i < count; i++) mpr_report_page(&doc, &timeline[i]);
    mpr_html_document(out, &doc, &(struct mpr_style){ 0 });
    mpr_doc_free(&doc);
}

void mpr_html_write(FILE *out, const struct mpr_page *page)
{
    const char *at = until(out, mpr_page, "<!--title-->");
    title(out, page->timeline, page->count);
    at = until(out, at, "<!--tables-->");
    tables(out, page->timeline, page->count);
    at = until(out, at, "<!--data-->");
    mpr_html_data(out, page);
    until(out, at, "<!--end-->");
}
