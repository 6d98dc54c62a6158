#include "csv.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "group.h"
#include "utf8.h"

/* A spreadsheet takes a cell that begins so for a formula, in some languages the wide forms, too.
 */
static bool is_formula(const char *text)
{
    uint32_t code;
    do {
        if (!*text || !mpr_utf8_next(&text, &code)) return false;
    } while (code == ' ' || code == 0xa0 || code == 0x3000);
    if (code > 0xff00 && code < 0xff5f) code -= 0xff00 - 0x20;
    return code < 0x80 && strchr("=+-@", (char)code);
}

/* Behind an apostrophe it is text.  In some languages a semicolon begins a cell, whatever quotes
 * say. */
static void write_text(FILE *out, const char *text)
{
    while (*text) {
        const char *const start = text;
        uint32_t code;
        if (!mpr_utf8_next(&text, &code)) fputs("\xef\xbf\xbd", out);
        else if (code == '"') fputs("\"\"", out);
        else if (mpr_utf8_unsafe(code)) mpr_utf8_escape(out, code);
        else fwrite(start, 1, (size_t)(text - start), out);
        if (code == ';' && is_formula(text)) fputc('\'', out);
    }
}

static void begin(FILE *out, const char *text)
{
    fputc('"', out);
    if (is_formula(text)) fputc('\'', out);
}

void mpr_csv_field(FILE *out, const char *text)
{
    begin(out, text);
    write_text(out, text);
    fputc('"', out);
}

void mpr_csv_path(FILE *out, struct mpr_path path)
{
    begin(out, path.depth ? path.frame[0]->text : "");
    for (size_t i = 0; i < path.depth; i++) {
        if (i) fputs(" > ", out);
        write_text(out, path.frame[i]->text);
    }
    if (!path.depth) fputs(mpr_group_nowhere(MPR_GROUP_RANGE), out);
    fputc('"', out);
}
