#include "units.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

const char *mpr_units_size(struct mpr_number *n, uint64_t bytes)
{
    static const char *const unit[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
    if (bytes < 1024) {
        snprintf(n->text, sizeof n->text, "%" PRIu64 " B", bytes);
        return n->text;
    }
    double value = (double)bytes / 1024;
    size_t i = 0;
    while (value >= 1023.995 && i + 1 < sizeof unit / sizeof *unit) {
        value /= 1024;
        i++;
    }
    snprintf(n->text, sizeof n->text, "%.2f %s", value, unit[i]);
    return n->text;
}

static const char *with_sign(struct mpr_number *n, const char *plus, int64_t bytes)
{
    struct mpr_number size;
    const uint64_t amount = bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes;
    snprintf(n->text, sizeof n->text, "%s%.38s", bytes < 0 ? "-" : plus,
             mpr_units_size(&size, amount));
    return n->text;
}

const char *mpr_units_signed(struct mpr_number *n, int64_t bytes)
{
    return with_sign(n, "", bytes);
}

const char *mpr_units_change(struct mpr_number *n, int64_t bytes)
{
    return with_sign(n, bytes > 0 ? "+" : "", bytes);
}

const char *mpr_units_count(struct mpr_number *n, uint64_t count)
{
    char digits[24];
    char *out = n->text;
    const int length = snprintf(digits, sizeof digits, "%" PRIu64, count);
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0) *out++ = ',';
        *out++ = digits[i];
    }
    *out = 0;
    return n->text;
}

#define NS_PER_S UINT64_C(1000000000)

/* Writes the digits after the second that a time needs if it is exact to @width ns, at least 3. */
static void add_fraction(char *text, uint64_t ns, uint64_t width)
{
    const unsigned digits = width < 1000 ? 9 : width < 1000000 ? 6 : 3;
    char all[sizeof ".999999999"];
    snprintf(all, sizeof all, ".%09u", (unsigned)(ns % NS_PER_S));
    all[1 + digits] = 0;
    strcpy(text + strlen(text), all);
}

const char *mpr_units_time(struct mpr_number *n, uint64_t ns)
{
    return mpr_units_instant(n, ns, 1000000);
}

const char *mpr_units_instant(struct mpr_number *n, uint64_t ns, uint64_t width)
{
    const uint64_t s = ns / NS_PER_S;
    const unsigned minute = (unsigned)(s / 60 % 60), second = (unsigned)(s % 60);
    if (s < 60) snprintf(n->text, sizeof n->text, "%u", second);
    else if (s < 3600) snprintf(n->text, sizeof n->text, "%02u:%02u", minute, second);
    else snprintf(n->text, sizeof n->text, "%02" PRIu64 ":%02u:%02u", s / 3600, minute, second);
    add_fraction(n->text, ns, width);
    if (s < 60) strcat(n->text, " s");
    return n->text;
}

static struct tm local(uint64_t real)
{
    struct tm tm = { 0 };
    const time_t seconds = (time_t)(real / NS_PER_S);
    localtime_r(&seconds, &tm);
    return tm;
}

const char *mpr_units_clock(struct mpr_number *n, uint64_t epoch, uint64_t ns, uint64_t width)
{
    if (!epoch) return mpr_units_instant(n, ns, width);
    const struct tm first = local(epoch), at = local(epoch + ns);
    const bool same_day = first.tm_yday == at.tm_yday && first.tm_year == at.tm_year;
    strftime(n->text, sizeof n->text, same_day ? "%H:%M:%S" : "%m-%d %H:%M:%S", &at);
    add_fraction(n->text, epoch + ns, width);
    return n->text;
}

const char *mpr_units_length(struct mpr_number *n, uint64_t ns)
{
    static const char *const unit[] = { "ns", "us", "ms" };
    unsigned i = 0;
    for (; i + 1 < sizeof unit / sizeof *unit && ns >= 1000; ns /= 1000) i++;
    snprintf(n->text, sizeof n->text, "%" PRIu64 " %s", ns, unit[i]);
    return n->text;
}

const char *mpr_units_span(struct mpr_number *n, uint64_t ns)
{
    static const char *const unit[] = { "ns", "us", "ms", "s" };
    unsigned i = 0;
    double value = (double)ns;
    const uint64_t s = ns / NS_PER_S;
    if (s >= 3600)
        snprintf(n->text, sizeof n->text, "%" PRIu64 " h %02u min", s / 3600,
                 (unsigned)(s / 60 % 60));
    else if (s >= 60)
        snprintf(n->text, sizeof n->text, "%u min %02u s", (unsigned)(s / 60), (unsigned)(s % 60));
    if (s >= 60) return n->text;
    for (; i + 1 < sizeof unit / sizeof *unit && value >= 999.5; value /= 1000) i++;
    const int digits = !i || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    snprintf(n->text, sizeof n->text, "%.*f %s", digits, value, unit[i]);
    return n->text;
}

const char *mpr_units_share(struct mpr_number *n, uint64_t part, uint64_t whole)
{
    snprintf(n->text, sizeof n->text, "%.1f %%",
             whole ? 100.0 * (double)part / (double)whole : 0.0);
    return n->text;
}

const char *mpr_units_hex(char *text, const uint8_t *bytes, size_t count)
{
    static const char digit[] = "0123456789abcdef";
    for (size_t i = 0; i < count; i++) {
        text[2 * i] = digit[bytes[i] >> 4];
        text[2 * i + 1] = digit[bytes[i] & 15];
    }
    text[2 * count] = 0;
    return text;
}
