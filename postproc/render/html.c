/* The page's template is built by viewer/ and embedded.  It has places that are filled in here. */
#include "html.h"

#include <string.h>

#include "html_data.h"
#include "render.h"
#include "reports.h"
#include "timeline.h"

/* Generated; the size is 0 if memprof-report was built without Node. */
extern const char mpr_page[];
extern const size_t mpr_page_bytes;

bool mpr_html_available(void) { return mpr_page_bytes != 0; }

/* Writes the template up to a place and returns what follows it. */
static const char *until(FILE *out, const char *from, const char *place)
{
    const char *const end = mpr_page + mpr_page_bytes;
    const char *at = memmem(from, (size_t)(end - from), place, strlen(place));
    if (!at) at = end;
    fwrite(from, 1, (size_t)(at - from), out);
    return at == end ? end : at + strlen(place);
}

void mpr_html_write(FILE *out, const struct mpr_page *page)
{
    struct mpr_document title = { 0 }, tables = { 0 };
    const char *at = until(out, mpr_page, "<!--title-->");
    mpr_html_text(out, mpr_report_label(&title, &page->timeline[0].summary));
    if (page->count > 1) fprintf(out, " and %zu more", page->count - 1);
    at = until(out, at, "<!--tables-->");
    for (size_t i = 0; i < page->count; i++) mpr_report_page(&tables, &page->timeline[i]);
    mpr_html_document(out, &tables, &(struct mpr_style){ 0 });
    mpr_doc_free(&title);
    mpr_doc_free(&tables);
    at = until(out, at, "<!--data-->");
    mpr_html_data(out, page);
    until(out, at, "<!--end-->");
}
