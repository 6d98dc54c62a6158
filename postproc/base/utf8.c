#include "utf8.h"

#include <inttypes.h>
#include <string.h>
#include <wchar.h>

#include "alloc.h"
#include "mpf/shell.h"
#include "mpf/utf8.h"

bool mpr_utf8_next(const char **at, uint32_t *code) { return mpf_utf8_next(at, code); }

static size_t (*shown_width)(uint32_t code);

void mpr_utf8_set_width(size_t (*width)(uint32_t code)) { shown_width = width; }

size_t mpr_utf8_width(uint32_t code)
{
    if (shown_width) return shown_width(code);
    const int width = code < 0x80 ? 1 : wcwidth((wchar_t)code);
    return width < 0 ? 1 : (size_t)width;
}

size_t mpr_utf8_columns(const char *text)
{
    size_t columns = 0;
    while (*text) {
        uint32_t code;
        const bool whole = mpr_utf8_next(&text, &code);
        columns += whole ? mpr_utf8_width(code) : shown_width ? strlen("\\xff") : 1;
    }
    return columns;
}

bool mpr_utf8_unsafe(uint32_t code) { return mpf_utf8_unsafe(code); }

bool mpr_utf8_shown(uint32_t code)
{
    return !mpr_utf8_unsafe(code) && (code < 0x80 || !shown_width);
}

void mpr_utf8_escape(FILE *out, uint32_t code)
{
    fprintf(out, code < 0x80 ? "\\x%02" PRIx32 : "\\u{%" PRIx32 "}", code);
}

bool mpr_utf8_begins_ci_command(char before, uint32_t code, char next)
{
    if (code == ':') return next == ':' && (!before || before == ' ');
    return code == '#' && before == '#';
}

void mpr_utf8_write_escaped(FILE *out, const char *text)
{
    const char *const begin = text;
    while (*text) {
        const char *const start = text, before = start > begin ? start[-1] : 0;
        uint32_t code;
        if (!mpr_utf8_next(&text, &code)) fprintf(out, "\\x%02x", (unsigned)code);
        else if (mpr_utf8_unsafe(code) || mpr_utf8_begins_ci_command(before, code, *text))
            mpr_utf8_escape(out, code);
        else fwrite(start, 1, (size_t)(text - start), out);
    }
}

void mpr_utf8_write_repaired(FILE *out, const char *text)
{
    uint32_t code;
    for (const char *start = text; *text; start = text) {
        if (mpr_utf8_next(&text, &code)) fwrite(start, 1, (size_t)(text - start), out);
        else fputs("\xef\xbf\xbd", out);
    }
}

char *mpr_utf8_repaired(const char *text, size_t *bytes)
{
    const char *at = text;
    char *mended;
    uint32_t code;
    *bytes = strlen(text);
    bool valid = true;
    while (valid && *at) valid = mpr_utf8_next(&at, &code);
    if (valid) return NULL;
    FILE *out = mpr_text_open(&mended, bytes);
    mpr_utf8_write_repaired(out, text);
    mpr_text_close(out);
    return mended;
}

const char *mpr_shell_word(struct mpr_arena *arena, const char *word)
{
    char *text = mpr_arena_alloc(arena, MPF_SHELL_BYTES(strlen(word)));
    mpf_shell_word(text, word, mpr_utf8_shown);
    return text;
}

static bool is_continuation(char byte) { return ((unsigned char)byte & 0xc0) == 0x80; }

const char *mpr_utf8_shortened(struct mpr_arena *arena, const char *text, size_t max)
{
    static const char dots[] = "...";
    const size_t length = strlen(text), room = max - strlen(dots);
    if (length <= max) return text;
    const char *slash = strrchr(text, '/');
    const size_t component = slash ? strlen(slash) : 0, half = room - room / 2,
                 after_dots = component > half && component <= room ? component : half;
    size_t head = room - after_dots, tail = length - after_dots;
    while (head && is_continuation(text[head])) head--;
    while (is_continuation(text[tail])) tail++;
    return mpr_arena_format(arena, "%.*s%s%s", (int)head, text, dots, text + tail);
}
