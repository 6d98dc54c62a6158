#include "html.h"

#include <string.h>

#include "html_data.h"
#include "html_tables.h"
#include "page.h"

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

void mpr_html_write(FILE *out, const struct mpr_timeline *timeline, size_t count)
{
    const char *at = until(out, mpr_page, "<!--title-->");
    mpr_html_label(out, &timeline[0]);
    if (count > 1) fprintf(out, " and %zu more", count - 1);
    at = until(out, at, "<!--tables-->");
    mpr_html_tables(out, timeline, count);
    at = until(out, at, "<!--data-->");
    mpr_html_data(out, timeline, count);
    until(out, at, "<!--end-->");
}
