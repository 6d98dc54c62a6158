/* A document for a terminal. */
#include <stdlib.h>
#include <string.h>

#include "render.h"
#include "text.h"
#include "text_document.h"
#include "utf8.h"

/* A line that is wrapped. */
struct writing {
    FILE *out;
    size_t width, hang, column; /* width 0: it is not */
};

/* A word behind so many blanks: at the end of the line, or on the next one. */
static void word(struct writing *w, size_t blanks, const char *text)
{
    const size_t columns = mpr_utf8_columns(text);
    const bool wraps = columns && w->column > w->hang && w->column + blanks + columns > w->width;
    if (wraps) fprintf(w->out, "\n%*s", (int)w->hang, "");
    else fprintf(w->out, "%*s", (int)blanks, "");
    w->column = (wraps ? w->hang : w->column + blanks) + columns;
    fputs(text, w->out);
}

static void words(struct writing *w, const char *text)
{
    char *const harmless = mpr_text_harmless(text), *at = harmless;
    while (*at) {
        const size_t blanks = strspn(at, " "), bytes = strcspn(at + blanks, " ");
        char *const end = at + blanks + bytes, after = *end;
        *end = 0;
        word(w, blanks, at + blanks);
        *end = after;
        at = end;
    }
    free(harmless);
}

/* Neighbours of one tone are one piece. */
static void line(FILE *out, const struct mpr_item *item, const struct mpr_style *style)
{
    struct writing w = { .out = out };
    enum mpr_tone tone = MPR_PLAIN;
    if (item->hang && style->width) w.width = (size_t)style->width, w.hang = (size_t)item->hang;
    for (const struct mpr_run *run = item->run; run; run = run->next) {
        if (run->tone != tone && tone != MPR_PLAIN) mpr_text_tone(out, style, MPR_PLAIN);
        if (run->tone != tone && run->tone != MPR_PLAIN) mpr_text_tone(out, style, run->tone);
        tone = run->tone;
        if (w.width) words(&w, run->text);
        else mpr_text_escaped(out, run->text);
    }
    if (tone != MPR_PLAIN) mpr_text_tone(out, style, MPR_PLAIN);
    fputc('\n', out);
}

void mpr_text_document(FILE *out, const struct mpr_document *doc, const struct mpr_style *style)
{
    for (const struct mpr_item *i = doc->first; i; i = i->next) {
        if (i->kind == MPR_LINE) line(out, i, style);
        else if (i->kind == MPR_TABLE && mpr_table_in(i->table, MPR_IN_TEXT))
            mpr_text_table(out, i->table, style);
    }
}
