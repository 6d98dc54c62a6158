/* Documents for a terminal. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "reports.h"
#include "text.h"
#include "utf8.h"

void mpr_text_tone(FILE *out, const struct mpr_style *style, enum mpr_tone tone)
{
    static const char *const code[] = { "\033[0m", "\033[1m", "\033[33;1m", "\033[2m" };
    if (style->color) fputs(code[tone], out);
}

/* ---- wrapped lines */

void mpr_text_wrap(struct mpr_wrap *w, const char *text)
{
    enum { SHORT = 30 };
    while (*text) {
        /* A unit is a word, or a short phrase between two blanks and two blanks. */
        const size_t blanks = strspn(text, " ");
        const char *gap = strstr(text + blanks, "  ");
        const size_t phrase = gap ? (size_t)(gap - text) - blanks : strlen(text + blanks);
        const size_t bytes = blanks > 1 && phrase <= SHORT ? phrase : strcspn(text + blanks, " ");
        char *unit = mpr_text_copy_part(text + blanks, bytes);
        const size_t columns = mpr_utf8_columns(unit);
        const bool wraps = w->width && blanks && columns && w->column > w->hang &&
                           w->column + blanks + columns > w->width;
        if (wraps) fprintf(w->out, "\n%*s%s", (int)w->hang, "", unit);
        else fprintf(w->out, "%*s%s", (int)blanks, "", unit);
        w->column = (wraps ? w->hang : w->column + blanks) + columns;
        free(unit);
        text += blanks + bytes;
    }
}

/* Returns the indentation of continuation lines: that of the text after the line's label ("  where
 * step"), or a bit more than that of the line if it has no label. */
static size_t default_hang(const char *text, size_t width)
{
    enum { LABEL = 16, IN = 2 };
    const size_t begin = strspn(text, " ");
    size_t label = begin;
    while (text[label] && !(text[label] == ' ' && text[label + 1] == ' ')) label++;
    const size_t gap = strspn(text + label, " ");
    const size_t hang = gap && label < LABEL ? label + gap : begin < LABEL / 2 ? begin + IN : begin;
    return hang < width / 2 ? hang : IN;
}

/* Wraps consecutive runs of one tone together, because a word may be in two of them. */
static void line(FILE *out, const struct mpr_item *item, const struct mpr_style *style)
{
    struct mpr_wrap w = { .out = out, .width = item->whole ? 0 : (size_t)style->width };
    for (const struct mpr_run *run = item->run; run;) {
        const enum mpr_tone tone = run->tone;
        const bool first = run == item->run;
        char *text;
        size_t bytes;
        FILE *escaped = mpr_text_open(&text, &bytes);
        for (; run && run->tone == tone; run = run->next)
            mpr_utf8_write_escaped(escaped, run->text);
        mpr_text_close(escaped);
        if (first) w.hang = item->hang ? (size_t)item->hang : default_hang(text, w.width);
        if (tone != MPR_PLAIN) mpr_text_tone(out, style, tone);
        mpr_text_wrap(&w, text);
        if (tone != MPR_PLAIN) mpr_text_tone(out, style, MPR_PLAIN);
        free(text);
    }
    fputc('\n', out);
}

/* ---- documents */

void mpr_text_document(FILE *out, const struct mpr_document *doc, const struct mpr_style *style)
{
    for (const struct mpr_item *i = doc->first; i; i = i->next) {
        if (i->kind == MPR_LINE) line(out, i, style);
        else if (i->kind == MPR_TABLE && mpr_table_is_in(i->table, MPR_IN_TEXT))
            mpr_text_table(out, i->table, style);
    }
}

const struct mpr_renderer mpr_render_text = { mpr_text_document, mpr_timeline_text };

void mpr_text_log(FILE *out, const struct mpr_summary *s, const struct mpr_choice *choice,
                  const struct mpr_style *style)
{
    struct mpr_document doc = { .clock = style->clock };
    mpr_report_log_lines(&doc, s);
    if (choice) mpr_report_choice(&doc, choice);
    mpr_text_document(out, &doc, style);
    mpr_doc_free(&doc);
}

/* ---- terminals without UTF-8 */

#define ESCAPE "\\u{%" PRIx32 "}"

/* Characters of charts, "…" and "≥". */
static const struct {
    uint32_t code;
    char ascii;
} drawn[] = {
    { 0x2581, '_' }, { 0x2582, '.' }, { 0x2583, ':' }, { 0x2584, '-' },
    { 0x2585, '=' }, { 0x2586, '+' }, { 0x2587, '*' }, { 0x2588, '#' },
    { 0x2500, '-' }, { 0x2502, '|' }, { 0x2514, '+' }, { 0x2524, '+' },
    { 0x2534, '+' }, { 0x25bc, 'v' }, { 0x2026, '<' }, { 0x2265, '>' },
};

static char ascii_of(uint32_t code)
{
    if (code < 0x80) return (char)code;
    for (size_t i = 0; i < sizeof drawn / sizeof *drawn; i++)
        if (drawn[i].code == code) return drawn[i].ascii;
    return 0;
}

size_t mpr_ascii_width(uint32_t code)
{
    char text[sizeof "\\u{ffffffff}"];
    return ascii_of(code) ? 1 : (size_t)snprintf(text, sizeof text, ESCAPE, code);
}

void mpr_ascii_write(FILE *out, const char *text)
{
    while (*text) {
        uint32_t code;
        const bool whole = mpr_utf8_next(&text, &code);
        const char ascii = ascii_of(code);
        if (ascii) fputc(ascii, out);
        else fprintf(out, whole ? ESCAPE : "\\x%02" PRIx32, code);
    }
}
