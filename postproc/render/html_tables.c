/* Tables that need no scripting. */
#include "html_tables.h"

#include <inttypes.h>

#include "units.h"
#include "utf8.h"

enum { ROWS = 40 };

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

static void path(FILE *out, const struct mpr_timeline *t, uint32_t node)
{
    if (!node) {
        fputs("outside any range", out);
        return;
    }
    if (t->node[node].parent) {
        path(out, t, t->node[node].parent);
        fputs(" &gt; ", out);
    }
    mpr_html_text(out, t->node[node].label);
}

/* Outermost first, as in the other reports. */
static void stack(FILE *out, const struct mpr_timeline *t, uint32_t number)
{
    if (!number) fputs("(no call stack)", out);
    for (size_t i = 0; i < t->stack[number].depth; i++) {
        if (i) fputs(" &gt; ", out);
        mpr_html_text(out, t->frame[t->stack[number].frame[i]]);
    }
}

static void size_cell(FILE *out, uint64_t bytes)
{
    struct mpr_number n;
    fprintf(out, "<td>%s</td>", mpr_units_size(&n, bytes));
}

static void count_cell(FILE *out, uint64_t count)
{
    struct mpr_number n;
    fprintf(out, "<td>%s</td>", mpr_units_count(&n, count));
}

static void holder_row(FILE *out, const struct mpr_timeline *t, const struct mpr_heap_line *h,
                       const struct mpr_holder *k)
{
    struct mpr_number share;
    fputs("<tr><th scope=\"row\">", out);
    if (k->library) mpr_html_text(out, t->library_name[k->library]);
    else if (!k->node && t->best.by == MPR_GROUP_LIBRARY) fputs("(library not known)", out);
    else if (!k->node && t->best.by == MPR_GROUP_STACK) stack(out, t, k->native);
    else path(out, t, k->node);
    fputs("</th>", out);
    size_cell(out, k->bytes);
    count_cell(out, k->bytes);
    fprintf(out, "<td>%s</td>", mpr_units_share(&share, k->bytes, h->peak_bytes));
    count_cell(out, k->blocks);
    count_cell(out, k->allocations);
    fputs("</tr>\n", out);
}

static void heap_table(FILE *out, const struct mpr_timeline *t, const struct mpr_heap_line *h)
{
    struct mpr_number size, bytes, time;
    fprintf(out, "<table><caption>%s: peak %s (%s bytes)", h->name, mpr_units_size(&size, h->peak_bytes),
            mpr_units_count(&bytes, h->peak_bytes));
    fprintf(out, " at %s, at the end %s</caption>\n", mpr_units_time(&time, h->peak_time),
            mpr_units_size(&size, h->end_bytes));
    fputs("<thead><tr><th scope=\"col\">range</th><th scope=\"col\">at the peak</th><th scope=\"col\">bytes</th>"
          "<th scope=\"col\">share</th><th scope=\"col\">blocks</th><th scope=\"col\">allocations</th></tr></thead>"
          "<tbody>\n", out);
    for (size_t i = 0; i < h->holders && i < ROWS; i++) holder_row(out, t, h, &h->holder[i]);
    fputs("</tbody></table>\n", out);
    if (h->holders > ROWS) fprintf(out, "<p>%zu more held bytes.</p>\n", h->holders - ROWS);
}

void mpr_html_label(FILE *out, const struct mpr_timeline *t)
{
    const struct mpr_process_info *p = &t->summary.process;
    const char *program = p->argc ? p->argv[0] : t->summary.path;
    mpr_html_text(out, program);
    for (size_t i = 1; i < p->argc && i < 4; i++) {
        fputc(' ', out);
        mpr_html_text(out, p->argv[i]);
    }
    if (*p->rank) fputs(", rank ", out), mpr_html_text(out, p->rank);
    if (*p->host) fputs(", ", out), mpr_html_text(out, p->host);
    if (p->pid) fprintf(out, ", pid %" PRIu64, p->pid);
}

void mpr_html_tables(FILE *out, const struct mpr_timeline *timeline, size_t count)
{
    struct mpr_number events, lost;
    for (size_t i = 0; i < count; i++) {
        const struct mpr_timeline *t = &timeline[i];
        fputs("<section><h3>", out);
        mpr_html_label(out, t);
        fprintf(out, "</h3><p>%s%s events, %s lost; ranges: %s</p>\n",
                t->summary.incomplete ? "<strong>The log is incomplete.</strong> " : "",
                mpr_units_count(&events, t->summary.events), mpr_units_count(&lost, t->summary.lost_events), t->best.source);
        for (size_t k = 0; k < t->heaps; k++) heap_table(out, t, &t->heap[k]);
        fputs("</section>\n", out);
    }
}
