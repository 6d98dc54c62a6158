#include "mpf/utf8.h"

#include <stddef.h>

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

bool mpf_utf8_next(const char **at, uint32_t *code)
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

/* Controls; marks that turn the direction of text; what takes no room and so makes two names look
 * the same (Unicode's default ignorable characters). */
bool mpf_utf8_unsafe(uint32_t code)
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
