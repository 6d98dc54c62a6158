#include "mpf/keep.h"

#include <stddef.h>
#include <string.h>

static const struct {
    const char *text;
    uint64_t bytes, ns;
} unit[] = {
    { "K", UINT64_C(1) << 10, 0 },       { "KiB", UINT64_C(1) << 10, 0 },
    { "M", UINT64_C(1) << 20, 0 },       { "MiB", UINT64_C(1) << 20, 0 },
    { "G", UINT64_C(1) << 30, 0 },       { "GiB", UINT64_C(1) << 30, 0 },
    { "T", UINT64_C(1) << 40, 0 },       { "TiB", UINT64_C(1) << 40, 0 },
    { "s", 0, UINT64_C(1000000000) },    { "min", 0, UINT64_C(60000000000) },
    { "h", 0, UINT64_C(3600000000000) }, { "d", 0, UINT64_C(86400000000000) },
};

int mpf_keep_read(const char *text, struct mpf_keep *keep)
{
    uint64_t n = 0;
    const char *p = text;
    for (; *p >= '0' && *p <= '9'; p++)
        if (n > UINT64_MAX / 10 - 9) return 0;
        else n = n * 10 + (uint64_t)(*p - '0');
    for (size_t i = 0; n && i < sizeof unit / sizeof *unit; i++) {
        if (strcmp(p, unit[i].text) != 0) continue;
        *keep = (struct mpf_keep){ 0 };
        return !__builtin_mul_overflow(n, unit[i].bytes, &keep->bytes) &&
               !__builtin_mul_overflow(n, unit[i].ns, &keep->ns);
    }
    return 0;
}
