#include "base/text.h"

#include <string.h>

void mp_text_bytes(struct mp_text *t, const char *bytes, size_t n)
{
    const size_t room = t->cap - 1 - t->bytes;
    if (n > room) {
        n = room;
        t->full = true;
    }
    memcpy(t->buf + t->bytes, bytes, n);
    t->bytes += n;
    t->buf[t->bytes] = 0;
}

void mp_text_str(struct mp_text *t, const char *text) { mp_text_bytes(t, text, strlen(text)); }

void mp_text_u64(struct mp_text *t, uint64_t value)
{
    char digits[20];
    size_t n = sizeof digits;
    do digits[--n] = (char)('0' + value % 10);
    while (value /= 10);
    mp_text_bytes(t, digits + n, sizeof digits - n);
}

void mp_text_size(struct mp_text *t, uint64_t bytes)
{
    static const char *const unit[] = { " B", " KiB", " MiB", " GiB", " TiB" };
    unsigned u = 0;
    uint64_t whole = bytes, rest = 0;
    for (; whole >= 1024 && u < 4; u++) {
        rest = whole % 1024;
        whole /= 1024;
    }
    mp_text_u64(t, whole);
    if (u) {
        mp_text_str(t, ".");
        mp_text_u64(t, rest * 10 / 1024);
    }
    mp_text_str(t, unit[u]);
}

bool mp_text_version(const char *text, unsigned part[2])
{
    for (int i = 0; i < 2; i++) {
        if ((i && *text++ != '.') || *text < '0' || *text > '9') return false;
        for (part[i] = 0; *text >= '0' && *text <= '9'; text++)
            if ((part[i] = part[i] * 10 + (unsigned)(*text - '0')) >= 100) return false;
    }
    return true;
}

uint64_t mp_text_decimal(const char *text)
{
    uint64_t n = 0;
    for (; *text >= '0' && *text <= '9'; text++) n = n * 10 + (uint64_t)(*text - '0');
    return n;
}

static uint64_t hex(const char **p)
{
    uint64_t n = 0;
    for (;; (*p)++) {
        const char c = **p;
        if (c >= '0' && c <= '9') n = n << 4 | (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f') n = n << 4 | (uint64_t)(c - 'a' + 10);
        else return n;
    }
}

void mp_text_range(const char *text, uint64_t *from, uint64_t *to)
{
    *from = hex(&text);
    if (*text == '-') text++;
    *to = hex(&text);
}

uint64_t mp_text_hex(const char *text) { return hex(&text); }
