/* Decoders of line tables. The tables must be bytes objects, but their content is not trusted. */
#include "python/python_frames.h"

struct table {
    const uint8_t *at, *end;
};

/* ---- up to 3.9: pairs of a number of code bytes and a signed number of lines */

static int64_t line_in_pairs(struct table t, int64_t line, uint64_t instruction)
{
    for (uint64_t at = 0; t.end - t.at >= 2; t.at += 2) {
        at += t.at[0];
        if (at > 2 * instruction) break;
        line += (int8_t)t.at[1];
    }
    return line;
}

/* ---- 3.10: pairs of a number of code bytes and the difference of their line; -128: no line */

static int64_t line_in_ranges(struct table t, int64_t line, uint64_t instruction)
{
    enum { NO_LINE = -128 };
    for (uint64_t at = 0; t.end - t.at >= 2; t.at += 2) {
        const int8_t delta = (int8_t)t.at[1];
        at += t.at[0];
        if (delta != NO_LINE) line += delta;
        if (at > 2 * instruction) return delta != NO_LINE ? line : 0;
    }
    return 0;
}

/* ---- since 3.11: entries with a head byte, code << 3 | units - 1, and numbers with six bits per
 * byte */

static uint32_t varint(struct table t)
{
    uint32_t value = 0;
    for (unsigned shift = 0; t.at < t.end && shift < 32; shift += 6) {
        const uint8_t b = *t.at++;
        value |= (uint32_t)(b & 63) << shift;
        if (!(b & 64)) break;
    }
    return value;
}

enum { LOCATION_ONE_LINE = 10, LOCATION_NO_COLUMNS = 13, LOCATION_NONE = 15 };

/* Returns the lines by which an entry advances. The table is after its head. */
static int32_t line_delta(unsigned code, struct table t)
{
    if (code < LOCATION_ONE_LINE || code == LOCATION_NONE) return 0;
    if (code < LOCATION_NO_COLUMNS) return (int32_t)code - LOCATION_ONE_LINE;
    const uint32_t v = varint(t);
    return v & 1 ? -(int32_t)(v >> 1) : (int32_t)(v >> 1);
}

static int64_t line_in_locations(struct table t, int64_t line, uint64_t instruction)
{
    for (uint64_t at = 0; t.at < t.end;) {
        const uint8_t head = *t.at++;
        line += line_delta(head >> 3 & 15, t);
        at += (head & 7u) + 1;
        if (at > instruction) return line;
        while (t.at < t.end && !(*t.at & 0x80)) t.at++; /* only a head has bit 7 */
    }
    return 0;
}

uint64_t mp_python_line(const struct mp_python *py, const struct mp_python_place *place)
{
    const void *bytes = mp_python_pointer(place->code, py->layout.code_lines);
    if (!mp_python_is(bytes, py->bytes)) return 0;
    const uint8_t *at = (const uint8_t *)bytes + MP_PYTHON_BYTES;
    const struct table t = { at, at + mp_python_size(bytes) };
    const int32_t first = mp_python_int(place->code, py->layout.code_first_line);
    const int64_t line =
        py->layout.lines == MP_PYTHON_PAIRS    ? line_in_pairs(t, first, place->instruction)
        : py->layout.lines == MP_PYTHON_RANGES ? line_in_ranges(t, first, place->instruction)
                                               : line_in_locations(t, first, place->instruction);
    return line > 0 ? (uint64_t)line : 0;
}
