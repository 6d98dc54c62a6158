#include "text.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "reports.h"
#include "text_document.h"
#include "utf8.h"

void mpr_text_escaped(FILE *out, const char *text) { mpr_utf8_escaped(out, text); }

void mpr_text_tone(FILE *out, const struct mpr_style *style, enum mpr_tone tone)
{
    static const char *const code[] = { "\033[0m", "\033[1m", "\033[33;1m", "\033[2m" };
    if (style->color) fputs(code[tone], out);
}

/* ---- texts that are put together; the caller frees them */

struct text {
    char *at;
    size_t bytes;
    FILE *out;
};

static FILE *begin(struct text *t) { return t->out = mpr_text_open(&t->at, &t->bytes); }

static char *end(struct text *t)
{
    mpr_text_close(t->out);
    return t->at;
}

char *mpr_text_harmless(const char *text)
{
    struct text copy;
    mpr_text_escaped(begin(&copy), text);
    return end(&copy);
}

/* ---- paths */

char *mpr_text_whole_path(struct mpr_path path, enum mpr_group by)
{
    struct text t;
    FILE *out = begin(&t);
    if (!path.depth) fputs(mpr_group_nowhere(by), out);
    for (size_t i = 0; i < path.depth; i++) {
        if (i) fputs(" > ", out);
        mpr_text_escaped(out, path.frame[i]->text);
    }
    return end(&t);
}

/* ---- parts of documents, for reports that have a renderer of their own */

static void write_lines(FILE *out, struct mpr_document *doc, const struct mpr_style *style)
{
    mpr_text_document(out, doc, style);
    mpr_doc_free(doc);
}

void mpr_text_log(FILE *out, const struct mpr_summary *s, const struct mpr_choice *choice,
                  const struct mpr_style *style)
{
    struct mpr_document doc = { .clock = style->clock };
    mpr_report_lines(&doc, s);
    if (choice) mpr_report_choice(&doc, choice);
    write_lines(out, &doc, style);
}

void mpr_text_notes(FILE *out, const char *const *note, size_t notes, const struct mpr_style *style)
{
    struct mpr_document doc = { 0 };
    mpr_report_notes(&doc, note, notes);
    write_lines(out, &doc, style);
}

const char *mpr_text_time(struct mpr_number *n, const struct mpr_style *style,
                          const struct mpr_summary *summary, uint64_t ns)
{
    return mpr_units_clock(n, style->clock ? summary->process.start_ns : 0, ns, 1000000);
}
