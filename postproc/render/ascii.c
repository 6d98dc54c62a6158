#include "ascii.h"

#include <inttypes.h>
#include <stddef.h>

#include "utf8.h"

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
