#include "instant.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NS_PER_S UINT64_C(1000000000)
/* Reports print at least milliseconds, so an instant is not longer than that. */
#define MAX_WIDTH_NS UINT64_C(1000000)

/* Reads a decimal number of units, exact to the ns.  *end: the character after it.  *width: the ns
 * that 1 in its last digit stands for. */
static bool read_decimal(const char *text, char **end, uint64_t unit, uint64_t *ns, uint64_t *width)
{
    if (!isdigit((unsigned char)*text)) return false;
    const uint64_t whole = strtoull(text, end, 10);
    uint64_t fraction = 0;
    uint64_t digit = unit;
    if (**end == '.')
        for (++*end; isdigit((unsigned char)**end); ++*end)
            fraction += (uint64_t)(**end - '0') * (digit /= 10);
    *width = digit ? digit : 1;
    return !__builtin_mul_overflow(whole, unit, ns) && !__builtin_add_overflow(*ns, fraction, ns);
}

/* Reads "mm:ss.fff" or "hh:mm:ss.fff". */
static bool read_clock(const char *text, uint64_t *ns, uint64_t *width)
{
    uint64_t minutes = 0;
    char *end;
    for (const char *colon; (colon = strchr(text, ':')); text = colon + 1) {
        if (!isdigit((unsigned char)*text)) return false;
        minutes = minutes * 60 + strtoull(text, &end, 10);
        if (end != colon) return false;
    }
    if (minutes > UINT64_MAX / (60 * NS_PER_S) || !read_decimal(text, &end, NS_PER_S, ns, width) ||
        *end)
        return false;
    return !__builtin_add_overflow(*ns, minutes * 60 * NS_PER_S, ns);
}

static bool read_with_unit(const char *text, uint64_t *ns, uint64_t *width)
{
    static const struct {
        const char *suffix;
        uint64_t ns;
    } unit[] = {
        { "", NS_PER_S },  { "s", NS_PER_S }, { " s", NS_PER_S }, /* as reports print it */
        { "ms", 1000000 }, { "us", 1000 },    { "ns", 1 },
    };
    for (size_t i = 0; i < sizeof unit / sizeof *unit; i++) {
        char *end;
        if (read_decimal(text, &end, unit[i].ns, ns, width) && strcmp(end, unit[i].suffix) == 0)
            return true;
    }
    return false;
}

bool mpr_instant_parse(const char *text, struct mpr_instant *instant)
{
    uint64_t from, width, to;
    const bool is_valid =
        strchr(text, ':') ? read_clock(text, &from, &width) : read_with_unit(text, &from, &width);
    if (!is_valid) return false;
    if (width > MAX_WIDTH_NS) width = MAX_WIDTH_NS;
    if (__builtin_add_overflow(from, width - 1, &to)) to = UINT64_MAX;
    *instant = (struct mpr_instant){ from, to, false };
    return true;
}

/* ---- times of day */

struct wall {
    struct tm day;
    bool has_year, utc;
    uint64_t ns, width; /* since midnight; the ns that 1 in the last digit stands for */
};

static enum mpr_wall parse_wall(const char *text, struct wall *w)
{
    char time[sizeof "00:00:00.000000000"];
    *w = (struct wall){ .ns = 0 };
    const char *end = strptime(text, "%Y-%m-%d", &w->day);
    w->has_year = end != NULL;
    if (!end) {
        w->day = (struct tm){ 0 };
        end = strptime(text, "%m-%d", &w->day);
    }
    const bool has_day = end && (*end == ' ' || *end == 'T');
    const char *from = has_day ? end + 1 : text;
    size_t bytes = strlen(from);
    w->utc = has_day && bytes && from[bytes - 1] == 'Z';
    bytes -= w->utc;
    if (bytes >= sizeof time || bytes < strlen("00:00")) return MPR_NO_WALL;
    memcpy(time, from, bytes);
    time[bytes] = 0;
    if (strcspn(time, ":") != 2) return MPR_NO_WALL;
    if (bytes == strlen("00:00")) strcat(time, ":00");
    if (!read_clock(time, &w->ns, &w->width) || w->ns >= 24 * 3600 * NS_PER_S) return MPR_NO_WALL;
    return has_day ? MPR_WALL_DAY : MPR_WALL_TIME;
}

enum mpr_wall mpr_instant_wall_kind(const char *text)
{
    struct wall w;
    return parse_wall(text, &w);
}

/* Returns the CLOCK_REALTIME ns of this time some days and years later, or 0 if that is before
 * 1970. */
static uint64_t to_realtime(const struct wall *w, int days, int years)
{
    struct tm tm = w->day;
    tm.tm_mday += days;
    tm.tm_year += years;
    tm.tm_sec = (int)(w->ns / NS_PER_S % 60);
    tm.tm_min = (int)(w->ns / NS_PER_S / 60 % 60);
    tm.tm_hour = (int)(w->ns / NS_PER_S / 3600);
    tm.tm_isdst = -1;
    const time_t seconds = w->utc ? timegm(&tm) : mktime(&tm);
    return seconds > 0 ? (uint64_t)seconds * NS_PER_S + w->ns % NS_PER_S : 0;
}

static uint64_t distance(uint64_t a, uint64_t b) { return a > b ? a - b : b - a; }

bool mpr_instant_from_wall(const char *text, uint64_t start, struct mpr_instant *instant)
{
    const time_t seconds = (time_t)(start / NS_PER_S);
    struct wall w;
    struct tm began;
    uint64_t real;
    const enum mpr_wall kind = parse_wall(text, &w);
    if (!kind || !localtime_r(&seconds, &began)) return false;
    if (w.width > MAX_WIDTH_NS) w.width = MAX_WIDTH_NS;
    if (kind == MPR_WALL_TIME) w.day = began;
    else if (!w.has_year) w.day.tm_year = began.tm_year;
    real = to_realtime(&w, 0, 0);
    if (kind == MPR_WALL_TIME && real + w.width <= start) real = to_realtime(&w, 1, 0);
    if (kind == MPR_WALL_DAY && !w.has_year) {
        const uint64_t next_year = to_realtime(&w, 0, 1);
        if (distance(next_year, start) < distance(real, start)) real = next_year;
    }
    if (real + w.width <= start) return false;
    const uint64_t to = real + w.width - 1 - start;
    *instant = (struct mpr_instant){ real > start ? real - start : 0, to, false };
    return true;
}
