#include "json.h"

#include <inttypes.h>

#include "utf8.h"

/* In the page unsafe characters are escaped as in text, because the page shows its strings. */
static void write_string(const struct mpr_json *j, const char *text)
{
    FILE *out = j->out;
    const char *const begin = text;
    fputc('"', out);
    while (*text) {
        const char *const start = text, before = start > begin ? start[-1] : 0;
        uint32_t code;
        if (!mpr_utf8_next(&text, &code)) fputs("\\ufffd", out);
        else if (code == '"' || code == '\\') fprintf(out, "\\%c", (int)code);
        else if (j->in_html && mpr_utf8_unsafe(code)) fputc('\\', out), mpr_utf8_escape(out, code);
        else if (mpr_utf8_unsafe(code) || (j->in_html && code == '<') ||
                 (!j->in_html && mpr_utf8_begins_ci_command(before, code, *text))) {
            if (code < 0x10000) fprintf(out, "\\u%04" PRIx32, code);
            else
                fprintf(out, "\\u%04" PRIx32 "\\u%04" PRIx32, 0xd7c0 + (code >> 10),
                        0xdc00 + (code & 0x3ff));
        } else fwrite(start, 1, (size_t)(text - start), out);
    }
    fputc('"', out);
}

static void begin_value(struct mpr_json *j, const char *key)
{
    if (!j->first) fputc(',', j->out);
    if (j->depth && !j->in_html) fprintf(j->out, "\n%*s", j->depth * 2, "");
    j->first = false;
    if (!key) return;
    write_string(j, key);
    fputs(j->in_html ? ":" : ": ", j->out);
}

void mpr_json_open(struct mpr_json *j, const char *key, char bracket)
{
    begin_value(j, key);
    fputc(bracket, j->out);
    j->depth++;
    j->first = true;
}

void mpr_json_close(struct mpr_json *j, char bracket)
{
    j->depth--;
    if (!j->first && !j->in_html) fprintf(j->out, "\n%*s", j->depth * 2, "");
    fputc(bracket, j->out);
    j->first = false;
    if (!j->depth) fputc('\n', j->out);
}

void mpr_json_text(struct mpr_json *j, const char *key, const char *text)
{
    begin_value(j, key);
    write_string(j, text);
}

void mpr_json_number(struct mpr_json *j, const char *key, uint64_t number)
{
    begin_value(j, key);
    fprintf(j->out, "%" PRIu64, number);
}

void mpr_json_signed(struct mpr_json *j, const char *key, int64_t number)
{
    begin_value(j, key);
    fprintf(j->out, "%" PRId64, number);
}

void mpr_json_percent(struct mpr_json *j, const char *key, double percent)
{
    begin_value(j, key);
    fprintf(j->out, "%.6f", percent / 100);
}

#define NUMBERS(name, type, format)                                                                \
    void name(struct mpr_json *j, const char *key, const type *numbers, size_t count)              \
    {                                                                                              \
        begin_value(j, key);                                                                       \
        fputc('[', j->out);                                                                        \
        for (size_t i = 0; i < count; i++)                                                         \
            fprintf(j->out, "%s%" format, i ? "," : "", numbers[i]);                               \
        fputc(']', j->out);                                                                        \
    }
NUMBERS(mpr_json_numbers, uint64_t, PRIu64)
NUMBERS(mpr_json_signeds, int64_t, PRId64)

void mpr_json_flag(struct mpr_json *j, const char *key, bool flag)
{
    begin_value(j, key);
    fputs(flag ? "true" : "false", j->out);
}

void mpr_json_null(struct mpr_json *j, const char *key)
{
    begin_value(j, key);
    fputs("null", j->out);
}

void mpr_json_texts(struct mpr_json *j, const char *key, const char *const *text, size_t count)
{
    mpr_json_open(j, key, '[');
    for (size_t i = 0; i < count; i++) mpr_json_text(j, NULL, text[i]);
    mpr_json_close(j, ']');
}

void mpr_json_path(struct mpr_json *j, const char *key, struct mpr_path path)
{
    mpr_json_open(j, key, '[');
    for (size_t i = 0; i < path.depth; i++) mpr_json_text(j, NULL, path.frame[i]->text);
    mpr_json_close(j, ']');
}

void mpr_json_known(struct mpr_json *j, const char *key, uint64_t value, uint64_t unknown)
{
    if (value == unknown) mpr_json_null(j, key);
    else mpr_json_number(j, key, value);
}
