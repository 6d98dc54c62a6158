/* The page, and documents as HTML that needs no scripts: an object of a list is a section, and a
 * line of strong words is its heading.
 *
 * The page's template is built by viewer/ and embedded.  It has places that are filled in here. */
#include "html.h"

#include <string.h>

#include "cells.h"
#include "html_data.h"
#include "render.h"
#include "reports.h"
#include "timeline.h"
#include "utf8.h"

void mpr_html_text(FILE *out, const char *text)
{
    while (*text) {
        const char *const start = text;
        uint32_t code;
        if (!mpr_utf8_next(&text, &code)) fputs("\xef\xbf\xbd", out);
        else if (mpr_utf8_unsafe(code)) mpr_utf8_escape(out, code);
        else if (code == '<') fputs("&lt;", out);
        else if (code == '&') fputs("&amp;", out);
        else if (code == '"') fputs("&quot;", out);
        else fwrite(start, 1, (size_t)(text - start), out);
    }
}

/* ---- lines */

static void line(FILE *out, const struct mpr_run *run)
{
    static const char *const element[] = { NULL, "strong", "strong", "small" };
    bool heading = true;
    if (!run) return;
    for (const struct mpr_run *r = run; r; r = r->next) heading &= r->tone == MPR_STRONG;
    fputs(heading ? "<h3>" : "<p>", out);
    for (; run; run = run->next) {
        const char *name = heading ? NULL : element[run->tone];
        if (name) fprintf(out, "<%s>", name);
        mpr_html_text(out, run->text);
        if (name) fprintf(out, "</%s>", name);
    }
    fputs(heading ? "</h3>" : "</p>\n", out);
}

/* ---- tables */

static void one_row(FILE *out, const struct mpr_table *t, const void *row)
{
    static const struct mpr_cell_style html = { mpr_html_text, " &gt; " };
    const bool estimated = t->estimated && t->estimated(row);
    bool first = true;
    fputs("<tr>", out);
    for (size_t i = 0; i < t->columns; i++) {
        const struct mpr_column *c = &t->column[i];
        if (!mpr_column_is_in(c, MPR_IN_PAGE)) continue;
        const struct mpr_value v = mpr_table_cell(t, c, row);
        fputs(first ? "<th scope=\"row\">" : "<td>", out);
        mpr_cell_write(out, &html, t, &v, estimated && c->estimate);
        fputs(first ? "</th>" : "</td>", out);
        first = false;
    }
    fputs("</tr>\n", out);
}

static void table(FILE *out, const struct mpr_table *t, const struct mpr_style *style)
{
    const size_t shown = mpr_table_shown(t, style->top, MPR_IN_PAGE);
    struct mpr_words rest;
    fputs("<table>", out);
    if (t->title) {
        fputs("<caption>", out);
        mpr_html_text(out, t->title);
        fputs("</caption>\n", out);
    }
    fputs("<thead><tr>", out);
    for (size_t i = 0; i < t->columns; i++) {
        if (!mpr_column_is_in(&t->column[i], MPR_IN_PAGE)) continue;
        fputs("<th scope=\"col\">", out);
        mpr_html_text(out, t->column[i].title);
        fputs("</th>", out);
    }
    fputs("</tr></thead><tbody>\n", out);
    for (size_t i = 0; i < shown; i++) one_row(out, t, mpr_table_row(t, i, MPR_IN_PAGE));
    fputs("</tbody></table>\n", out);
    if (shown < t->rows && !t->partial && mpr_cell_rest(&rest, t, shown, MPR_IN_PAGE))
        fprintf(out, "<p>%s</p>\n", rest.text);
}

void mpr_html_document(FILE *out, const struct mpr_document *doc, const struct mpr_style *style)
{
    for (const struct mpr_item *i = doc->first; i; i = i->next) {
        const bool section = !i->key && !i->list;
        switch (i->kind) {
        case MPR_OPEN:
            if (section) fputs("<section>", out);
            break;
        case MPR_CLOSE:
            if (section) fputs("</section>\n", out);
            break;
        case MPR_LINE: line(out, i->run); break;
        case MPR_TABLE:
            if (mpr_table_is_in(i->table, MPR_IN_PAGE)) table(out, i->table, style);
            break;
        case MPR_FACT: break;
        }
    }
}

/* ---- the page */

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
