#include <stdlib.h>

#include "alloc.h"
#include "cmd.h"
#include "diff.h"
#include "html.h"
#include "logs.h"
#include "outlier.h"

#include "timeline.h"

/* What a page of one or two logs, and of many, holds of each heap. */
static const struct mpr_timeline_options detailed = { .by = MPR_GROUP_ALL,
                                                      .to = UINT64_MAX,
                                                      .buckets = 8192,
                                                      .bands = 256,
                                                      .changes = 100000,
                                                      .lifetimes = 2000,
                                                      .flows = 24000,
                                                      .boxes = 4096,
                                                      .instants = 128,
                                                      .steps = true,
                                                      .exact = 512 };
static const struct mpr_timeline_options small = { .by = MPR_GROUP_ALL,
                                                   .to = UINT64_MAX,
                                                   .buckets = 1024,
                                                   .bands = 96,
                                                   .changes = 12000,
                                                   .lifetimes = 300,
                                                   .flows = 2000,
                                                   .boxes = 512,
                                                   .instants = 32,
                                                   .exact = 128 };
static const struct mpr_peaks_options compared = { .by = MPR_GROUP_AUTO, .at = MPR_INSTANT_PEAK };
enum { DETAILED_LOGS = 2 };

static const struct argp_option options[] = {
    { "output", 'o', "FILE", 0, "write there (memprof.html); - is standard output", 1 },
    { 0 },
};

struct arguments {
    struct mpr_logs logs;
    struct mpr_output output;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &a->logs; return 0;
    case 'o': a->output.path = mpr_output_path(arg); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = { { &mpr_logs_argp, 0, "Which logs:", 1 }, { 0 } };
static const struct argp argp = {
    options,
    parse,
    NULL,
    "Writes one HTML file that shows runs over time and compares them; it needs no network."
    "\vExamples:\n"
    "  memprof-report html memprof.n03.4242.zst\n"
    "  memprof-report html base.zst fp8.zst -o compare.html\n"
    "  memprof-report html -o ranks.html logs/\n\n"
    "Exit status: 0 fine, 1 failure, 2 wrong usage, 3 a log is incomplete.",
    children,
    NULL,
    NULL,
};

struct runs {
    struct mpr_timeline *at;
    size_t count;
    bool incomplete;
};

struct adding {
    struct runs *runs;
    struct mpr_timeline_options options;
};

static int add(void *to, const char *path, const struct mpr_progress *progress,
               struct mpr_error *error)
{
    const struct adding *all = to;
    struct runs *runs = all->runs;
    struct mpr_timeline *t = &runs->at[runs->count];
    if (mpr_timeline_read(t, path, &all->options, progress, error) != 0) return -1;
    runs->incomplete |= t->summary.incomplete;
    runs->count++;
    return 0;
}

static void read_logs(struct arguments *a, struct runs *runs, const struct mpr_naming *naming)
{
    struct adding all = { runs, a->logs.paths.count > DETAILED_LOGS ? small : detailed };
    all.options.naming = naming;
    mpr_logs_each(&a->logs, add, &all);
}

/* Two runs, or of many the one that differs most and the middle of all.  False: there are none. */
static bool choose_two(const struct runs *runs, struct mpr_page *page)
{
    struct mpr_outlier found = { .outlier = 1, .heap = "" };
    if (runs->count != 2 && !mpr_outlier_find(runs->at, runs->count, &found)) return false;
    page->base = found.median;
    page->now = found.outlier;
    page->differs_in = found.heap;
    return true;
}

/* False: there are no two, or one cannot be read again. */
static bool compare(const struct arguments *a, const struct runs *runs, struct mpr_page *page,
                    struct mpr_diff *diff)
{
    const struct mpr_progress progress = mpr_bar();
    struct mpr_error error;
    bool good = choose_two(runs, page);
    const size_t of[] = { page->base, page->now };
    mpr_diff_init(diff, &compared);
    for (size_t i = 0; good && i < 2; i++) {
        const struct mpr_timeline *t = &runs->at[of[i]];
        diff->peaks.options.choice = &t->best; /* as that reading found out */
        good =
            mpr_diff_add(diff, i == 0, t->summary.path, MPR_INSTANT_PEAK, &progress, &error) == 0;
    }
    if (good) mpr_diff_finish(diff, a->output.naming.telling);
    mpr_bar_clear();
    return good;
}

static int write_page(struct arguments *a, const struct runs *runs)
{
    struct mpr_diff diff;
    struct mpr_page page = { .timeline = runs->at, .count = runs->count };
    page.naming = &a->output.naming;
    if (compare(a, runs, &page, &diff)) page.diff = &diff;
    int status = mpr_output_open(&a->output);
    if (status == 0) {
        mpr_html_write(a->output.file, &page);
        status = mpr_output_close(&a->output);
    }
    mpr_diff_free(&diff);
    return status;
}

int mpr_cmd_html(int argc, char **argv)
{
    struct arguments a = { .output = mpr_output_default() };
    a.output.path = "memprof.html";
    mpr_cmd_parse(&argp, argc, argv, &a);
    if (!mpr_html_available()) {
        fputs(
            "memprof-report: built without the page: install Node 18 or later with npm (apt-get install nodejs npm), "
            "then configure and build memprof again\n",
            stderr);
        return MPR_EXIT_FAILURE;
    }
    mpr_logs_choose(&a.logs);
    struct runs runs = { .at = mpr_alloc(a.logs.paths.count, sizeof *runs.at) };
    read_logs(&a, &runs, &a.output.naming);
    a.logs.failed |= !runs.count || write_page(&a, &runs) != 0;
    for (size_t i = 0; i < runs.count; i++) mpr_timeline_free(&runs.at[i]);
    free(runs.at);
    return mpr_logs_close(&a.logs, runs.incomplete ? MPR_EXIT_INCOMPLETE : MPR_EXIT_FINE);
}
