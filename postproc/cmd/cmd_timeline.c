#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "logs.h"
#include "mpf/event.h"
#include "options.h"
#include "selection.h"
#include "timeline.h"

enum { BUCKETS = 2048, BANDS = 20, INSTANTS = 128 };

struct arguments {
    struct mpr_output output;
    struct mpr_timeline_options timeline;
    struct mpr_logs logs;
    const char *from, *to, *path;
};

static void set_buckets(void *arguments, char *text, const char *name, struct argp_state *state)
{
    struct arguments *a = arguments;
    char *end;
    errno = 0;
    const unsigned long n = strtoul(text, &end, 10);
    if (errno || end == text || *end || n < 2 || n > 1000000 || *text == '-')
        argp_error(state, "--%s=%s: a number from 2 to 1000000 is wanted", name, text);
    a->timeline.buckets = n;
}

static const struct mpr_option options[] = {
    { "by", 'b', MPR_BY_WORDS, "bands by " MPR_BY_HELP, MPR_TO_BY(struct arguments, timeline.by) },
    { "heap", 0, "NAME", MPR_HEAP_HELP " or gpu0/torch",
      MPR_TO_HEAP(struct arguments, timeline.heap) },
    { "backward-of", 0, NULL, MPR_BACKWARD_OF_HELP,
      MPR_TO_FLAG(struct arguments, timeline.backward_of) },
    { "from", 0, "TIME",
      "from then on: " MPR_INSTANTS "; step:12 is when the 12th range named step begins",
      MPR_TO_INSTANT(struct arguments, from) },
    { "to", 0, "TIME", "up to then; step:12.end is that range's end",
      MPR_TO_INSTANT(struct arguments, to) },
    { "buckets", 0, "N", "at most N spans of time for each heap (2048)", .set = set_buckets },
    { 0 },
};

static const struct mpr_takes takes = {
    .doc = "Shows each heap over time, in bands that sum to the exact bytes at the peak."
           "\vExamples:\n"
           "  memprof-report timeline memprof.n03.4242.zst\n"
           "  memprof-report timeline --heap host/heap --from step:12 --to step:12.end LOG\n"
           "  memprof-report timeline --by thread --format csv -o timeline.csv LOG\n\n"
           "Exit status: 0 fine, 1 failure, 2 wrong usage, 3 the log is incomplete.",
    .options = options,
    .which = &mpr_logs_argp,
    .logs = offsetof(struct arguments, logs),
    .output = offsetof(struct arguments, output),
};

/* Between a time and itself lies that instant. */
static void check_bounds(const struct arguments *a)
{
    if (a->timeline.from <= a->timeline.to) return;
    mpr_bar_clear();
    mpr_cmd_say("--from=%s is behind --to=%s: nothing is between them", a->from, a->to);
    exit(MPR_EXIT_USAGE);
}

/* Text folds lines and cuts them then, as all reports: it needs every band.  Flame graphs show all,
 * unless told. */
static size_t bands_wanted(const struct mpr_output *output)
{
    const size_t top = output->style.top ? output->style.top : BANDS;
    const bool all = output->renderer == &mpr_render_folded && !output->style.top;
    return output->renderer == &mpr_render_text || all ? SIZE_MAX : top + 1;
}

static int read_log(struct arguments *a, struct mpr_timeline *timeline, struct mpr_error *error)
{
    const struct mpr_progress progress = mpr_bar();
    struct mpr_timeline_options *t = &a->timeline;
    int status =
        mpr_selection_span(a->from, a->to, a->path, t->heap, &progress, &t->from, &t->to, error);
    if (status == 0) check_bounds(a);
    if (status == 0)
        status = mpr_selection_check_begin(a->from, t->from, a->path, &progress, error);
    a->timeline.bands = bands_wanted(&a->output);
    if (status == 0) status = mpr_timeline_read(timeline, a->path, &a->timeline, &progress, error);
    mpr_bar_clear();
    return status;
}

static void render(const struct mpr_renderer *renderer, FILE *out, const void *result,
                   const struct mpr_style *style)
{
    renderer->timeline(out, result, style);
}

static int report(struct arguments *a)
{
    struct mpr_timeline timeline;
    struct mpr_error error;
    if (read_log(a, &timeline, &error) != 0) {
        mpr_cmd_error(&error);
        return MPR_EXIT_FAILURE;
    }
    const int status =
        mpr_output_report(&a->output, render, &timeline, timeline.summary.incomplete);
    mpr_timeline_free(&timeline);
    return status;
}

int mpr_cmd_timeline(int argc, char **argv)
{
    struct arguments a = { .output = mpr_output_default(),
                           .timeline = { .by = MPR_GROUP_AUTO,
                                         .buckets = BUCKETS,
                                         .changes = SIZE_MAX,
                                         .instants = INSTANTS } };
    a.output.has_stacks = true;
    mpr_takes_parse(&takes, argc, argv, &a, &a);
    a.logs.heap = a.timeline.heap;
    a.path = mpr_logs_one(&a.logs);
    return mpr_logs_close(&a.logs, a.path ? report(&a) : MPR_EXIT_FAILURE);
}
