#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "logs.h"
#include "mpf/event.h"
#include "selection.h"
#include "timeline.h"

enum {
    KEY_HEAP = 256,
    KEY_FROM,
    KEY_TO,
    KEY_BUCKETS,
    KEY_BACKWARD_OF,
    BUCKETS = 2048,
    BANDS = 20,
    INSTANTS = 128
};

static const struct argp_option options[] = {
    { "by", 'b', MPR_BY_WORDS, 0, "bands by " MPR_BY_HELP, 1 },
    { "heap", KEY_HEAP, "NAME", 0, "this heap only, for example host/heap or gpu0/torch", 1 },
    { "backward-of", KEY_BACKWARD_OF, NULL, 0, MPR_BACKWARD_OF_HELP, 1 },
    { "from", KEY_FROM, "TIME", 0,
      "from then on: " MPR_INSTANTS "; step:12 is when the 12th range named step begins", 1 },
    { "to", KEY_TO, "TIME", 0, "up to then; step:12.end is that range's end", 1 },
    { "buckets", KEY_BUCKETS, "N", 0, "at most N spans of time for each heap (2048)", 1 },
    { 0 },
};

struct arguments {
    struct mpr_output output;
    struct mpr_timeline_options timeline;
    struct mpr_logs logs;
    const char *from, *to, *path;
};

static void set_buckets(struct arguments *a, const char *arg, struct argp_state *state)
{
    char *end;
    errno = 0;
    const unsigned long n = strtoul(arg, &end, 10);
    if (errno || end == arg || *end || n < 2 || n > 1000000 || *arg == '-')
        argp_error(state, "--buckets=%s: a number from 2 to 1000000 is wanted", arg);
    a->timeline.buckets = n;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->logs;
        state->child_inputs[1] = &a->output;
        return 0;
    case 'b': a->timeline.by = mpr_selection_by(arg, state); return 0;
    case KEY_HEAP: a->timeline.heap = mpr_selection_heap(arg, MPR_HEAPS_WANTED, state); return 0;
    case KEY_BACKWARD_OF: a->timeline.backward_of = true; return 0;
    case KEY_FROM:
        mpr_selection_check_instant(arg, "from", state);
        a->from = arg;
        return 0;
    case KEY_TO:
        mpr_selection_check_instant(arg, "to", state);
        a->to = arg;
        return 0;
    case KEY_BUCKETS: set_buckets(a, arg, state); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = { { &mpr_logs_argp, 0, "Which logs:", 1 },
                                              { &mpr_output_argp, 0, "Output:", 2 },
                                              { 0 } };
static const struct argp argp = {
    options,
    parse,
    NULL,
    "Shows each heap over time, in bands that sum to the exact bytes at the peak."
    "\vExamples:\n"
    "  memprof-report timeline memprof.n03.4242.zst\n"
    "  memprof-report timeline --heap host/heap --from step:12 --to step:12.end LOG\n"
    "  memprof-report timeline --by thread --format csv -o timeline.csv LOG\n\n"
    "Exit status: 0 fine, 1 failure, 2 wrong usage, 3 the log is incomplete.",
    children,
    NULL,
    NULL,
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
    mpr_cmd_parse(&argp, argc, argv, &a);
    a.logs.heap = a.timeline.heap;
    a.path = mpr_logs_one(&a.logs);
    return mpr_logs_close(&a.logs, a.path ? report(&a) : MPR_EXIT_FAILURE);
}
