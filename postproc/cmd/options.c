#include "options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "error.h"
#include "log.h"
#include "named_instant.h"
#include "units.h"

/* ---- values of options */

void mpr_option_invalid(const struct mpr_given *given, const char *expected)
{
    argp_error(given->state, "invalid --%s '%s': expected %s", given->option->name, given->text,
               expected);
}

int mpr_option_word(const struct mpr_given *given)
{
    char expected[128] = ""; /* "auto, always or never" */
    size_t used = 0;
    int index = 0;
    for (const char *word = given->option->argument, *next; word; word = next, index++) {
        const size_t length = strcspn(word, "|");
        next = word[length] ? word + length + 1 : NULL;
        if (strlen(given->text) == length && strncmp(word, given->text, length) == 0) return index;
        const char *before = !index ? "" : next ? ", " : " or ";
        used += (size_t)snprintf(expected + used, sizeof expected - used, "%s%.*s", before,
                                 (int)length, word);
    }
    mpr_option_invalid(given, expected);
    return 0;
}

void mpr_set_text(void *value, const struct mpr_given *given)
{
    *(const char **)value = given->text;
}

void mpr_set_flag(void *value, const struct mpr_given *given)
{
    (void)given;
    *(bool *)value = true;
}

void mpr_set_word(void *value, const struct mpr_given *given)
{
    *(int *)value = mpr_option_word(given);
}

void mpr_set_number(void *value, const struct mpr_given *given)
{
    const uint64_t min = given->option->min, max = given->option->max;
    char expected[64];
    if (mpr_parse_number(given->text, min, max, value)) return;
    if (max > UINT32_MAX) snprintf(expected, sizeof expected, "a number of at least %" PRIu64, min);
    else snprintf(expected, sizeof expected, "a number from %" PRIu64 " to %" PRIu64, min, max);
    mpr_option_invalid(given, expected);
}

/* The words are auto and then the groups in their order. */
void mpr_set_by(void *value, const struct mpr_given *given)
{
    const int word = mpr_option_word(given);
    *(enum mpr_group *)value = word ? (enum mpr_group)(word - 1) : MPR_GROUP_AUTO;
}

void mpr_set_heap(void *value, const struct mpr_given *given)
{
    const uint8_t heap = mpr_heap_named(given->text);
    if (!heap) mpr_option_invalid(given, MPR_HEAPS_EXPECTED);
    *(uint8_t *)value = heap;
}

void mpr_set_instant(void *value, const struct mpr_given *given)
{
    const char *text = given->text;
    struct mpr_instant at;
    if (!mpr_instant_parse(text, &at) && !mpr_instant_wall_kind(text) &&
        !mpr_named_instant_parse(text))
        mpr_option_invalid(
            given, "a time (12.5s, 300ms, 01:30.250, \"2026-11-23 18:05:12\") or an "
                   "instant of the log (peak, rss, cgroup, oom, end, step:12, step:12.end)");
    *(const char **)value = text;
}

void mpr_set_instant_or_peak(void *value, const struct mpr_given *given)
{
    if (strcmp(given->text, "peak") != 0) mpr_set_instant(value, given);
}

uint64_t mpr_option_length(const struct mpr_given *given)
{
    struct mpr_instant length; /* a length is written like the time since the beginning */
    if (!mpr_instant_parse(given->text, &length) || !length.from)
        mpr_option_invalid(given, "a length of time, such as 1s, 500ms or 50us");
    return length.from;
}

void mpr_set_length(void *value, const struct mpr_given *given)
{
    *(uint64_t *)value = mpr_option_length(given);
}

bool mpr_parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *number)
{
    char *end;
    errno = 0;
    *number = strtoull(text, &end, 10);
    return !errno && end != text && !*end && !strchr(text, '-') && *number >= min && *number <= max;
}

/* ---- instants of a log */

/* Returns true for a time of day.  With --clock=wall a time without a day is one too, because
 * reports print times of day in that form. */
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

int mpr_instant_find(const char *text, uint64_t otherwise, const char *log, uint8_t heap,
                     const struct mpr_progress *progress, struct mpr_instant *at,
                     struct mpr_error *error)
{
    struct mpr_log *opened;
    *at = MPR_INSTANT_AT(otherwise);
    if (!text) return 0;
    if (!is_time_of_day(text))
        return mpr_instant_parse(text, at)
                   ? 0
                   : mpr_named_instant_find(log, text, heap, progress, at, error);
    if (mpr_log_open(&opened, log, error) != 0) return -1;
    const uint64_t start = mpr_log_header(opened)->start.real;
    mpr_log_close(opened);
    if (!start)
        return mpr_fail(
            error,
            "%s: this log does not have the clock time at which the process started; give a time since the "
            "start, such as 12.5s",
            log);
    if (!mpr_instant_from_wall(text, start, at))
        return mpr_fail(error, "%s: %s is earlier than the start of the process", log, text);
    return 0;
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
