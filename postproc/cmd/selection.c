#include "selection.h"

#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "error.h"
#include "log.h"
#include "named_instant.h"
#include "units.h"

/* "auto, range, ..., comm or graph" */
struct names {
    char text[128];
};
static struct names all_names(void)
{
    struct names all;
    int at = snprintf(all.text, sizeof all.text, "%s", mpr_group_name[MPR_GROUP_AUTO]);
    for (int i = 0; i < MPR_GROUP_AUTO; i++)
        at += snprintf(all.text + at, sizeof all.text - (size_t)at, "%s%s",
                       i == MPR_GROUP_AUTO - 1 ? " or " : ", ", mpr_group_name[i]);
    return all;
}

enum mpr_group mpr_selection_by(const char *arg, struct argp_state *state)
{
    for (size_t i = 0; mpr_group_name[i]; i++)
        if (strcmp(arg, mpr_group_name[i]) == 0) return (enum mpr_group)i;
    argp_error(state, "--by=%s: %s is wanted", arg, all_names().text);
    return MPR_GROUP_AUTO;
}

uint8_t mpr_selection_heap(const char *arg, const char *wanted, struct argp_state *state)
{
    const uint8_t heap = mpr_heap_named(arg);
    if (!heap) argp_error(state, "--heap=%s: %s is wanted", arg, wanted);
    return heap;
}

void mpr_selection_check_instant(const char *text, const char *option, struct argp_state *state)
{
    struct mpr_instant at;
    if (mpr_instant_parse(text, &at) || mpr_instant_is_wall(text) || mpr_named_instant_parse(text))
        return;
    argp_error(
        state,
        "--%s=%s: a time such as 12.5s, 300ms, 00:01:30.250, \"2026-11-23 18:05:12\", peak, oom, end, step:12 or step:12.end is wanted",
        option, text);
}

/* It is written as a time since the beginning is. */
uint64_t mpr_selection_length(const char *text, const char *option, struct argp_state *state)
{
    struct mpr_instant length;
    if (!mpr_instant_parse(text, &length) || !length.from)
        argp_error(state, "--%s=%s: a length of time such as 1s, 500ms or 50us is wanted", option,
                   text);
    return length.from;
}

/* With --clock=wall what has no day is of the clock, too, as reports print it then. */
static bool is_of_clock(const char *text)
{
    const enum mpr_wall wall = mpr_instant_is_wall(text);
    return wall == MPR_WALL_DAY || (wall == MPR_WALL_TIME && mpr_output_clock());
}

bool mpr_selection_is_named(const char *text)
{
    struct mpr_instant at;
    return text && !mpr_instant_parse(text, &at) && !is_of_clock(text) &&
           mpr_named_instant_parse(text);
}

static int start_of(const char *path, uint64_t *start, struct mpr_error *error)
{
    struct mpr_log *log;
    if (mpr_log_open(&log, path, error) != 0) return -1;
    *start = mpr_log_header(log)->start.real;
    mpr_log_close(log);
    return 0;
}

static int instant_of_clock(const char *text, const char *log, struct mpr_instant *at,
                            struct mpr_error *error)
{
    uint64_t start;
    if (start_of(log, &start, error) != 0) return -1;
    if (!start) return mpr_fail(error, "%s: when the process began by the clock is not known", log);
    if (!mpr_instant_of_wall(text, start, at))
        return mpr_fail(error, "%s: %s is before the process began", log, text);
    return 0;
}

int mpr_selection_instant(const char *text, uint64_t otherwise, const char *log, uint8_t heap,
                          const struct mpr_progress *progress, struct mpr_instant *at,
                          struct mpr_error *error)
{
    *at = MPR_INSTANT_AT(otherwise);
    if (text && is_of_clock(text)) return instant_of_clock(text, log, at, error);
    if (!text || mpr_instant_parse(text, at)) return 0;
    return mpr_named_instant_find(log, text, heap, progress, at, error);
}

int mpr_selection_check_begin(const char *from, uint64_t begin, const char *log,
                              const struct mpr_progress *progress, struct mpr_error *error)
{
    enum { PRINTED_NS = 1000000 }; /* a printed end may be rounded up by half of it */
    struct mpr_instant end;
    struct mpr_number time;
    if (!from || mpr_selection_is_named(from)) return 0;
    if (mpr_named_instant_find(log, "end", MPF_HEAP_NONE, progress, &end, error) != 0) return -1;
    if (begin <= end.to + PRINTED_NS) return 0;
    return mpr_fail(error, "%s: --from=%s is after the end of the log, at %s", log, from,
                    mpr_units_time(&time, end.to));
}

int mpr_selection_span(const char *from, const char *to, const char *log, uint8_t heap,
                       const struct mpr_progress *progress, uint64_t *begin, uint64_t *end,
                       struct mpr_error *error)
{
    struct mpr_instant first, last;
    if (mpr_selection_instant(from, 0, log, heap, progress, &first, error) != 0 ||
        mpr_selection_instant(to, UINT64_MAX, log, heap, progress, &last, error) != 0)
        return -1;
    *begin = first.from;
    *end = last.to;
    return 0;
}
