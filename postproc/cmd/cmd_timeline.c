#include <stdlib.h>

#include "cmd.h"
#include "timeline.h"

enum { BUCKETS = 2048, BANDS = 20, INSTANTS = 128 };

struct args {
    struct mpr_args common;
    struct mpr_timeline_options timeline;
    const char *from, *to;
};

static const struct mpr_option options[] = {
    { "by", 'b', MPR_BY_WORDS, "group the bands by " MPR_BY_HELP,
      MPR_TO_BY(struct args, timeline.by) },
    { "heap", 0, "NAME", MPR_HEAP_HELP " or gpu0/torch", MPR_TO_HEAP(struct args, timeline.heap) },
    { "backward-of", 0, NULL, MPR_BACKWARD_OF_HELP,
      MPR_TO_FLAG(struct args, timeline.backward_of) },
    { "from", 0, "TIME",
      "from TIME on: " MPR_INSTANTS "; step:12 is the beginning of the 12th range named step",
      MPR_TO_INSTANT(struct args, from) },
    { "to", 0, "TIME", "up to TIME; step:12.end is the end of that range",
      MPR_TO_INSTANT(struct args, to) },
    { "buckets", 0, "N", "at most N spans of time for each heap (default: 2048)",
      MPR_TO_NUMBER(struct args, timeline.buckets, 2, 1000000) },
    { 0 },
};

static const struct mpr_cmdline cmdline = {
    .doc = "Shows each heap over time, in bands that sum to the exact bytes at the peak."
           "\vExamples:\n"
           "  memprof-report timeline memprof.n03.4242.zst\n"
           "  memprof-report timeline --heap host/heap --from step:12 --to step:12.end LOG\n"
           "  memprof-report timeline --by thread --format csv -o timeline.csv LOG",
    .options = options,
    .has_stacks = true,
};

static void render(const struct mpr_renderer *renderer, FILE *out, const void *timeline,
                   const struct mpr_style *style)
{
    renderer->timeline(out, timeline, style);
}

static int make(struct mpr_log_report *report)
{
    struct args *a = (struct args *)report->args;
    struct mpr_timeline_options *t = &a->timeline;
    struct mpr_timeline timeline;
    if (mpr_instant_span(a->from, a->to, report->path, t->heap, &report->progress, &t->from, &t->to,
                         &report->error) != 0)
        return -1;
    if (t->from > t->to) {
        mpr_cmd_say("--from=%s is later than --to=%s", a->from, a->to);
        exit(MPR_EXIT_USAGE);
    }
    /* In text, paths that differ in a number become one line before --top counts lines, so all
     * bands are needed.  Flame graphs show all stacks unless --top is given. */
    const struct mpr_output *output = &report->args->output;
    const size_t top = output->style.top ? output->style.top : BANDS;
    const bool all = output->renderer == &mpr_render_text ||
                     (output->renderer == &mpr_render_folded && !output->style.top);
    t->bands = all ? SIZE_MAX : top + 1;
    if (mpr_instant_check_begin(a->from, t->from, report->path, &report->progress,
                                &report->error) != 0 ||
        mpr_timeline_read(&timeline, report->path, t, &report->progress, &report->error) != 0)
        return -1;
    mpr_bar_clear();
    report->status =
        mpr_output_report(&report->args->output, render, &timeline, timeline.summary.incomplete);
    mpr_timeline_free(&timeline);
    return 0;
}

int mpr_cmd_timeline(int argc, char **argv)
{
    struct args a = { .common = mpr_args_default(),
                      .timeline = { .by = MPR_GROUP_AUTO,
                                    .buckets = BUCKETS,
                                    .changes = SIZE_MAX,
                                    .instants = INSTANTS } };
    mpr_cmdline_parse(&cmdline, argc, argv, &a);
    return mpr_log_report_run(&a.common, a.timeline.heap, make);
}
