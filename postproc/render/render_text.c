/* A document for a terminal of 96 columns. */
#include "render.h"
#include "text.h"
#include "text_document.h"

/* Neighbours of one tone are one piece. */
static void line(FILE *out, const struct mpr_run *run, const struct mpr_style *style)
{
    enum mpr_tone tone = MPR_PLAIN;
    for (; run; run = run->next) {
        if (run->tone != tone && tone != MPR_PLAIN) mpr_text_tone(out, style, MPR_PLAIN);
        if (run->tone != tone && run->tone != MPR_PLAIN) mpr_text_tone(out, style, run->tone);
        tone = run->tone;
        mpr_text_escaped(out, run->text);
    }
    if (tone != MPR_PLAIN) mpr_text_tone(out, style, MPR_PLAIN);
    fputc('\n', out);
}

void mpr_text_document(FILE *out, const struct mpr_document *doc, const struct mpr_style *style)
{
    for (const struct mpr_item *i = doc->first; i; i = i->next) {
        if (i->kind == MPR_LINE) line(out, i->run, style);
        else if (i->kind == MPR_TABLE && mpr_table_in(i->table, MPR_IN_TEXT))
            mpr_text_table(out, i->table, style);
    }
}
