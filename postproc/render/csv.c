#include "csv.h"

#include <stdint.h>
#include <string.h>

#include "group.h"
#include "utf8.h"

static void write_text(FILE *out, const char *text)
{
    while (*text) {
        const char *const start = text;
        uint32_t code;
        if (!mpr_utf8_next(&text, &code)) fputs("\xef\xbf\xbd", out);
        else if (code == '"') fputs("\"\"", out);
        else if (mpr_utf8_unsafe(code)) mpr_utf8_escape(out, code);
        else fwrite(start, 1, (size_t)(text - start), out);
    }
}

/* A spreadsheet takes a cell that begins so for a formula; behind an apostrophe it is text. */
static void begin(FILE *out, const char *text)
{
    fputc('"', out);
    if (*text && strchr("=+-@", *text)) fputc('\'', out);
}

void mpr_csv_field(FILE *out, const char *text)
{
    begin(out, text);
    write_text(out, text);
    fputc('"', out);
}

void mpr_csv_path(FILE *out, const char *const *path, size_t depth)
{
    begin(out, depth ? path[0] : "");
    for (size_t i = 0; i < depth; i++) {
        if (i) fputs(" > ", out);
        write_text(out, path[i]);
    }
    if (!depth) fputs(mpr_group_nowhere(MPR_GROUP_RANGE), out);
    fputc('"', out);
}
