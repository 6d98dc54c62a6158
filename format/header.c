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
    do *--d = (char)('0' + value % 10); while (value /= 10);
    mpf_pairs_add(p, key, d);
}

size_t mpf_pairs_bytes(const struct mpf_pairs *p) { return p->full ? 0 : (size_t)(p->at - p->start); }

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
