#include "punycode.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The RFC's names and numbers. */
enum {
    BASE = 36,
    TMIN = 1,
    TMAX = 26,
    SKEW = 38,
    DAMP = 700,
    INITIAL_BIAS = 72,
    INITIAL_N = 128,
    LETTERS = 256
};

static uint32_t adapt(uint32_t delta, uint32_t letters, bool first)
{
    uint32_t k = 0;
    delta /= first ? DAMP : 2;
    delta += delta / letters;
    for (; delta > (BASE - TMIN) * TMAX / 2; k += BASE) delta /= BASE - TMIN;
    return k + (BASE - TMIN + 1) * delta / (delta + SKEW);
}

static int digit(char c)
{
    if (c >= 'a' && c <= 'z') return c - 'a';
    return c >= '0' && c <= '9' ? c - '0' + 26 : -1;
}

/* How far the next letter is from the last one, by places and values: at most a million of each.
 * -1: no number. */
static int64_t distance(const char **at, const char *end, uint32_t bias)
{
    uint64_t sum = 0, weight = 1;
    for (uint32_t k = BASE; *at < end; k += BASE) {
        const int d = digit(*(*at)++);
        if (d < 0) return -1;
        sum += (uint64_t)d * weight;
        if (sum > INT32_MAX) return -1;
        const uint32_t t = k <= bias ? TMIN : k >= bias + TMAX ? TMAX : k - bias;
        if ((uint32_t)d < t) return (int64_t)sum;
        weight *= BASE - t;
        if (weight > INT32_MAX) return -1;
    }
    return -1;
}

/* Bytes of the letter; 0: it is none. */
static size_t utf8(uint32_t c, char *out)
{
    const size_t bytes = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) return 0;
    out[0] = (char)c;
    if (bytes == 1) return 1;
    for (size_t i = bytes; i-- > 1; c >>= 6) out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)((0xf00 >> bytes & 0xf0) | c);
    return bytes;
}

static size_t write_all(const uint32_t *letter, uint32_t count, char *out, size_t cap)
{
    size_t used = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (cap - used < 4) return 0;
        const size_t bytes = utf8(letter[i], out + used);
        if (!bytes) return 0;
        used += bytes;
    }
    return used;
}

size_t mpr_punycode(const char *text, size_t bytes, char *out, size_t cap)
{
    uint32_t letter[LETTERS], count = 0, n = INITIAL_N, place = 0, bias = INITIAL_BIAS;
    const char *end = text + bytes, *plain = memrchr(text, '_', bytes);
    bool first = true;
    if (bytes > LETTERS) return 0;
    for (; plain && text < plain; text++) letter[count++] = (uint8_t)*text;
    if (plain) text++;
    while (text < end) {
        const int64_t d = distance(&text, end, bias);
        if (d < 0) return 0;
        bias = adapt((uint32_t)d, count + 1, first);
        first = false;
        const uint64_t to = place + (uint64_t)d;
        n += (uint32_t)(to / (count + 1));
        place = (uint32_t)(to % (count + 1));
        if (n > 0x10ffff) return 0; /* d is below 2^31: no overflow */
        memmove(&letter[place + 1], &letter[place], (count - place) * sizeof *letter);
        letter[place++] = n;
        count++;
    }
    return write_all(letter, count, out, cap);
}
