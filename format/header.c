#include "mpf/header.h"

#include <string.h>

#include "mpf/frame.h"

void mpf_pairs_init(struct mpf_pairs *p, void *buf, size_t cap)
{
    *p = (struct mpf_pairs){ .at = buf, .start = buf, .end = (char *)buf + cap };
}

void mpf_pairs_add(struct mpf_pairs *p, const char *key, const char *value)
{
    const size_t k = strlen(key) + 1, v = strlen(value) + 1;
    if (k + v > (size_t)(p->end - p->at)) {
        p->full = 1;
        return;
    }
    memcpy(p->at, key, k);
    memcpy(p->at + k, value, v);
    p->at += k + v;
}

void mpf_pairs_add_u64(struct mpf_pairs *p, const char *key, uint64_t value)
{
    char digits[21], *d = digits + sizeof digits;
    *--d = 0;
    do *--d = (char)('0' + value % 10);
    while (value /= 10);
    mpf_pairs_add(p, key, d);
}

void mpf_pairs_add_hex(struct mpf_pairs *p, const char *key, const uint8_t bytes[16])
{
    static const char digit[] = "0123456789abcdef";
    char hex[33];
    for (int i = 0; i < 16; i++) {
        hex[2 * i] = digit[bytes[i] >> 4];
        hex[2 * i + 1] = digit[bytes[i] & 15];
    }
    hex[32] = 0;
    mpf_pairs_add(p, key, hex);
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    const char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

int mpf_hex_read(const char *text, uint8_t bytes[16])
{
    unsigned digits = 0;
    memset(bytes, 0, 16);
    for (const char *p = text; *p && digits < 32; p++) {
        if (*p == '-') continue;
        const int digit = digit_of(*p);
        if (digit < 0) break;
        bytes[digits / 2] = (uint8_t)(bytes[digits / 2] << 4 | digit);
        digits++;
    }
    if (digits < 32) memset(bytes, 0, 16);
    return digits == 32;
}

size_t mpf_pairs_bytes(const struct mpf_pairs *p)
{
    return p->full ? 0 : (size_t)(p->at - p->start);
}

static const char *string(const char **at, const char *end)
{
    const char *start = *at, *zero = memchr(start, 0, (size_t)(end - start));
    if (zero) *at = zero + 1;
    return zero ? start : NULL;
}

int mpf_pairs_next(const char **at, const char *end, const char **key, const char **value)
{
    if (*at == end) return 0;
    if (!(*key = string(at, end)) || !(*value = string(at, end))) return MPF_ERR_DAMAGED;
    return 1;
}
