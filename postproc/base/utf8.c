#include "utf8.h"

#include <inttypes.h>
#include <string.h>
#include <wchar.h>

#include "alloc.h"
#include "arena.h"

/* Bytes that follow a lead byte; -1: no lead byte. */
static int following(unsigned char lead, uint32_t *bits)
{
    if (lead < 0x80) return *bits = lead, 0;
    if (lead >= 0xc2 && lead <= 0xdf) return *bits = lead & 0x1f, 1;
    if (lead >= 0xe0 && lead <= 0xef) return *bits = lead & 0x0f, 2;
    if (lead >= 0xf0 && lead <= 0xf4) return *bits = lead & 0x07, 3;
    return -1;
}

static bool allowed(uint32_t code, int more)
{
    static const uint32_t smallest[] = { 0, 0x80, 0x800, 0x10000 };
    return code >= smallest[more] && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
}

bool mpr_utf8_next(const char **at, uint32_t *code)
{
    const unsigned char *s = (const unsigned char *)*at;
    uint32_t value = 0;
    const int more = following(*s, &value);
    *code = *s;
    ++*at;
    if (more < 0) return false;
    for (int i = 1; i <= more; i++) {
        if ((s[i] & 0xc0) != 0x80) return false;
        value = value << 6 | (s[i] & 0x3f);
    }
    if (!allowed(value, more)) return false;
    *code = value;
    *at += more;
    return true;
}

static size_t (*shown_width)(uint32_t code);

void mpr_utf8_shown_as(size_t (*width)(uint32_t code)) { shown_width = width; }

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

/* Controls; marks that turn the direction of text; what takes no room and so makes two names look
 * the same (Unicode's default ignorable characters). */
bool mpr_utf8_unsafe(uint32_t code)
{
    static const struct {
        uint32_t from, to;
    } range[] = {
        { 0, 0x1f },        { 0x7f, 0x9f },       { 0xad, 0xad },       { 0x34f, 0x34f },
        { 0x61c, 0x61c },   { 0x115f, 0x1160 },   { 0x17b4, 0x17b5 },   { 0x180b, 0x180f },
        { 0x200b, 0x200f }, { 0x2028, 0x202e },   { 0x2060, 0x206f },   { 0x3164, 0x3164 },
        { 0xfe00, 0xfe0f }, { 0xfeff, 0xfeff },   { 0xffa0, 0xffa0 },   { 0xfff0, 0xfffb },
        { 0xfffe, 0xffff }, { 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff },
    };
    for (size_t i = 0; i < sizeof range / sizeof *range && code >= range[i].from; i++)
        if (code <= range[i].to) return true;
    return false;
}

bool mpr_utf8_shown(uint32_t code)
{
    return !mpr_utf8_unsafe(code) && (code < 0x80 || !shown_width);
}

void mpr_utf8_escape(FILE *out, uint32_t code)
{
    fprintf(out, code < 0x80 ? "\\x%02" PRIx32 : "\\u{%" PRIx32 "}", code);
}

bool mpr_utf8_commands(char before, uint32_t code, char next)
{
    if (code == ':') return next == ':' && (!before || before == ' ');
    return code == '#' && before == '#';
}

void mpr_utf8_escaped(FILE *out, const char *text)
{
    const char *const begin = text;
    while (*text) {
        const char *const start = text, before = start > begin ? start[-1] : 0;
        uint32_t code;
        if (!mpr_utf8_next(&text, &code)) fprintf(out, "\\x%02x", (unsigned)code);
        else if (mpr_utf8_unsafe(code) || mpr_utf8_commands(before, code, *text))
            mpr_utf8_escape(out, code);
        else fwrite(start, 1, (size_t)(text - start), out);
    }
}

void mpr_utf8_mended(FILE *out, const char *text)
{
    uint32_t code;
    for (const char *start = text; *text; start = text) {
        if (mpr_utf8_next(&text, &code)) fwrite(start, 1, (size_t)(text - start), out);
        else fputs("\xef\xbf\xbd", out);
    }
}

static bool is_whole(const char *text)
{
    uint32_t code;
    while (*text)
        if (!mpr_utf8_next(&text, &code)) return false;
    return true;
}

char *mpr_utf8_mend(const char *text, size_t *bytes)
{
    char *mended;
    *bytes = strlen(text);
    if (is_whole(text)) return NULL;
    FILE *out = mpr_text_open(&mended, bytes);
    mpr_utf8_mended(out, text);
    mpr_text_close(out);
    return mended;
}

static bool is_inside(char byte) { return ((unsigned char)byte & 0xc0) == 0x80; }

const char *mpr_utf8_shortened(struct mpr_arena *arena, const char *text, size_t most)
{
    static const char dots[] = "...";
    const size_t length = strlen(text), room = most - strlen(dots);
    if (length <= most) return text;
    const char *slash = strrchr(text, '/');
    const size_t last = slash ? strlen(slash) : 0, half = room - room / 2,
                 behind = last > half && last <= room ? last : half;
    size_t head = room - behind, tail = length - behind;
    while (head && is_inside(text[head])) head--;
    while (is_inside(text[tail])) tail++;
    return mpr_arena_format(arena, "%.*s%s%s", (int)head, text, dots, text + tail);
}
