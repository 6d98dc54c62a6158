#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "log.h"
#include "named_instant.h"
#include "output.h"
#include "units.h"

/* ---- values of options */

void mpr_option_invalid(struct argp_state *state, const char *name, const char *text,
                        const char *expected)
{
    argp_error(state, "invalid --%s '%s': expected %s", name, text, expected);
}

void mpr_set_text(void *value, char *text, const char *name, struct argp_state *state)
{
    (void)name, (void)state;
    *(const char **)value = text;
}

void mpr_set_flag(void *value, char *text, const char *name, struct argp_state *state)
{
    (void)text, (void)name, (void)state;
    *(bool *)value = true;
}

void mpr_set_by(void *value, char *text, const char *name, struct argp_state *state)
{
    char groups[128]; /* "auto, range, ..., comm or graph" */
    for (size_t i = 0; mpr_group_name[i]; i++)
        if (strcmp(text, mpr_group_name[i]) == 0) {
            *(enum mpr_group *)value = (enum mpr_group)i;
            return;
        }
    int at = snprintf(groups, sizeof groups, "%s", mpr_group_name[MPR_GROUP_AUTO]);
    for (int i = 0; i < MPR_GROUP_AUTO; i++)
        at += snprintf(groups + at, sizeof groups - (size_t)at, "%s%s",
                       i == MPR_GROUP_AUTO - 1 ? " or " : ", ", mpr_group_name[i]);
    mpr_option_invalid(state, name, text, groups);
}

void mpr_set_heap(void *value, char *text, const char *name, struct argp_state *state)
{
    const uint8_t heap = mpr_heap_named(text);
    if (!heap) mpr_option_invalid(state, name, text, MPR_HEAPS_EXPECTED);
    *(uint8_t *)value = heap;
}

void mpr_set_instant(void *value, char *text, const char *name, struct argp_state *state)
{
    struct mpr_instant at;
    if (!mpr_instant_parse(text, &at) && !mpr_instant_wall_kind(text) &&
        !mpr_named_instant_parse(text))
        mpr_option_invalid(state, name, text,
                           "a time (12.5s, 300ms, 00:01:30.250, \"2026-11-23 18:05:12\") or an "
                           "instant of the log (peak, oom, end, step:12, step:12.end)");
    *(const char **)value = text;
}

void mpr_set_instant_or_peak(void *value, char *text, const char *name, struct argp_state *state)
{
    if (strcmp(text, "peak") != 0) mpr_set_instant(value, text, name, state);
}

uint64_t mpr_parse_length(const char *text, const char *option, struct argp_state *state)
{
    struct mpr_instant length; /* a length is written like the time since the beginning */
    if (!mpr_instant_parse(text, &length) || !length.from)
        mpr_option_invalid(state, option, text, "a length of time, such as 1s, 500ms or 50us");
    return length.from;
}

void mpr_set_length(void *value, char *text, const char *name, struct argp_state *state)
{
    *(uint64_t *)value = mpr_parse_length(text, name, state);
}

bool mpr_parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *number)
{
    char *end;
    errno = 0;
    *number = strtoull(text, &end, 10);
    return !errno && end != text && !*end && !strchr(text, '-') && *number >= min && *number <= max;
}

/* ---- instants of a log */

/* Returns true for a time of day.  With --clock=wall reports print times without a day, so these
 * are also times of day then. */
static bool is_time_of_day(const char *text)
{
    const enum mpr_wall wall = mpr_instant_wall_kind(text);
    return wall == MPR_WALL_DAY || (wall == MPR_WALL_TIME && mpr_output_clock());
}

bool mpr_instant_is_named(const char *text)
{
    struct mpr_instant at;
    return text && !mpr_instant_parse(text, &at) && !is_time_of_day(text) &&
           mpr_named_instant_parse(text);
}

static int find_time_of_day(const char *text, const char *path, struct mpr_instant *at,
                            struct mpr_error *error)
{
    struct mpr_log *log;
    if (mpr_log_open(&log, path, error) != 0) return -1;
    const uint64_t start = mpr_log_header(log)->start.real;
    mpr_log_close(log);
    if (!start)
        return mpr_fail(
            error,
            "%s: this log does not have the clock time at which the process started; give a time since the "
            "start, such as 12.5s",
            path);
    if (!mpr_instant_from_wall(text, start, at))
        return mpr_fail(error, "%s: %s is earlier than the start of the process", path, text);
    return 0;
}

int mpr_instant_find(const char *text, uint64_t otherwise, const char *log, uint8_t heap,
                     const struct mpr_progress *progress, struct mpr_instant *at,
                     struct mpr_error *error)
{
    *at = MPR_INSTANT_AT(otherwise);
    if (text && is_time_of_day(text)) return find_time_of_day(text, log, at, error);
    if (!text || mpr_instant_parse(text, at)) return 0;
    return mpr_named_instant_find(log, text, heap, progress, at, error);
}

int mpr_instant_span(const char *from, const char *to, const char *log, uint8_t heap,
                     const struct mpr_progress *progress, uint64_t *begin, uint64_t *end,
                     struct mpr_error *error)
{
    struct mpr_instant first, last;
    if (mpr_instant_find(from, 0, log, heap, progress, &first, error) != 0 ||
        mpr_instant_find(to, UINT64_MAX, log, heap, progress, &last, error) != 0)
        return -1;
    *begin = first.from;
    *end = last.to;
    return 0;
}

int mpr_instant_check_begin(const char *from, uint64_t begin, const char *log,
                            const struct mpr_progress *progress, struct mpr_error *error)
{
    enum { PRINTED_NS = 1000000 }; /* reports may round the end of a log up by half of it */
    struct mpr_instant end;
    struct mpr_number time;
    if (!from || mpr_instant_is_named(from)) return 0;
    if (mpr_named_instant_find(log, "end", MPF_HEAP_NONE, progress, &end, error) != 0) return -1;
    if (begin <= end.to + PRINTED_NS) return 0;
    return mpr_fail(error, "%s: --from=%s is later than the end of the log, %s", log, from,
                    mpr_units_time(&time, end.to));
}
