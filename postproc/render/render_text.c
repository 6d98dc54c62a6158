/* A document for a terminal. */
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "render.h"
#include "text.h"
#include "text_document.h"
#include "wrap.h"

/* Where a line goes on below: under what stands behind its label ("  where   step"), else a bit
 * further in than it begins. */
static size_t hang_of(const char *text, size_t width)
{
    enum { LABEL = 16, IN = 2 };
    const size_t begin = strspn(text, " ");
    size_t label = begin;
    while (text[label] && !(text[label] == ' ' && text[label + 1] == ' ')) label++;
    const size_t gap = strspn(text + label, " ");
    const size_t hang = gap && label < LABEL ? label + gap : begin < LABEL / 2 ? begin + IN : begin;
    return hang < width / 2 ? hang : IN;
}

/* The text of neighbours of one tone, harmless; the caller frees it. */
static char *text_of(const struct mpr_run **run)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = mpr_text_open(&text, &bytes);
    const enum mpr_tone tone = (*run)->tone;
    for (; *run && (*run)->tone == tone; *run = (*run)->next) mpr_text_escaped(out, (*run)->text);
    mpr_text_close(out);
    return text;
}

static void line(FILE *out, const struct mpr_item *item, const struct mpr_style *style)
{
    struct mpr_wrap w = { .out = out, .width = item->whole ? 0 : (size_t)style->width };
    for (const struct mpr_run *run = item->run; run;) {
        const enum mpr_tone tone = run->tone;
        const bool first = run == item->run;
        char *text = text_of(&run);
        if (first) w.hang = item->hang ? (size_t)item->hang : hang_of(text, w.width);
        if (tone != MPR_PLAIN) mpr_text_tone(out, style, tone);
        mpr_wrap_words(&w, text);
        if (tone != MPR_PLAIN) mpr_text_tone(out, style, MPR_PLAIN);
        free(text);
    }
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
