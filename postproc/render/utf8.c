#include "utf8.h"

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

size_t mpr_utf8_length(const char *text)
{
    size_t length = 0;
    for (; *text; text++) length += (*text & 0xc0) != 0x80;
    return length;
}

bool mpr_utf8_unsafe(uint32_t code)
{
    if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return true;
    return (code >= 0x200e && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066
        && code <= 0x2069);
}
