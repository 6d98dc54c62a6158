#include "core/draw.h"

#include "base/clock.h"

/* Returns the natural logarithm of a number in (0, 1] with an error below 10^-5. The C library's
 * logarithm is in another library. */
static double logarithm(double x)
{
    union {
        double d;
        uint64_t u;
    } v = { x };
    const int exponent = (int)(v.u >> 52) - 1022;
    v.u = (v.u & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1022) << 52; /* 0.5 to 1 */
    /* ln(v) = ln(sqrt(1/2)) + 2 artanh(t). */
    const double t = (v.d - 0.70710678) / (v.d + 0.70710678), t2 = t * t;
    return exponent * 0.69314718 - 0.34657359 + 2 * t * (1 + t2 * (1.0 / 3 + t2 / 5));
}

uint64_t mp_draw(uint32_t *random, uint64_t mean)
{
    uint32_t r = *random ? *random : (uint32_t)(mp_clock_ticks() ^ (uintptr_t)random >> 4) | 1;
    r ^= r << 13;
    r ^= r >> 17;
    r ^= r << 5;
    *random = r;
    if (mean == 1) return 1;
    return (uint64_t)(-logarithm(r / 4294967296.0) * (double)mean) + 1;
}
