#include <stdlib.h>

#include "alloc.h"
#include "cmd.h"
#include "diff.h"
#include "html.h"
#include "insights.h"
#include "logs.h"
#include "options.h"
#include "outlier.h"
#include "timeline.h"

/* What a page of one or two logs, and of many, holds of each heap. */
static const struct mpr_timeline_options detailed = { .by = MPR_GROUP_ALL,
                                                      .to = UINT64_MAX,
                                                      .buckets = 8192,
                                                      .bands = 256,
                                                      .changes = 100000,
                                                      .lifetimes = 4096,
                                                      .flows = 24000,
                                                      .boxes = 4096,
                                                      .instants = 128,
                                                      .segments = 24576,
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
                                                   .segments = 1024,
                                                   .exact = 128 };
static const struct mpr_peaks_options compared = { .by = MPR_GROUP_AUTO, .at = MPR_INSTANT_PEAK };
enum { DETAILED_LOGS = 2, FOUND_LOGS = 16 };

struct arguments {
    struct mpr_logs logs;
    struct mpr_output output;
};

static void set_output(void *arguments, char *text, const char *name, struct argp_state *state)
{
    struct arguments *a = arguments;
    (void)name, (void)state;
    a->output.path = mpr_output_path(text);
}

static const struct mpr_option options[] = {
    { "output", 'o', "FILE", "write there (memprof.html); - is standard output",
      .set = set_output },
    { 0 },
};

static const struct mpr_takes takes = {
    .doc = "Writes one HTML file that shows runs over time and compares them; it needs no network."
           "\vExamples:\n"
           "  memprof-report html memprof.n03.4242.zst\n"
           "  memprof-report html base.zst fp8.zst -o compare.html\n"
           "  memprof-report html -o ranks.html logs/\n\n"
           "Exit status: 0 fine, 1 failure, 2 wrong usage, 3 a log is incomplete.",
    .options = options,
    .which = &mpr_logs_argp,
    .logs = offsetof(struct arguments, logs),
    .no_output = true,
};

struct runs {
    struct mpr_timeline *at;
    size_t count;
    bool incomplete;
};

struct findings {
    struct mpr_insights **of; /* by run; NULL: nobody asked */
    struct mpr_processes family;
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

/* ---- two runs */

/* Two runs, or of many the one that differs most and the middle of all.  False: there are none. */
static bool choose_two(const struct runs *runs, struct mpr_page *page)
{
    struct mpr_outlier found = { .outlier = 1 };
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

/* ---- findings */

/* The one that died for lack of memory, of several the largest: the page opens with it.  count:
 * none did. */
static size_t killed(const struct runs *runs)
{
    size_t found = runs->count;
    for (size_t i = 0; i < runs->count; i++) {
        const struct mpr_timeline *t = &runs->at[i], *most = &runs->at[found % runs->count];
        if (t->summary.oom == MPR_FATE_NO_OOM || !t->heaps) continue;
        if (found == runs->count || t->heap[0].peak_bytes > most->heap[0].peak_bytes) found = i;
    }
    return found;
}

/* What was read of all logs is enough for who is whose. */
static void read_family(const struct runs *runs, struct mpr_processes *family)
{
    for (size_t i = 0; i < runs->count; i++) {
        const struct mpr_timeline *t = &runs->at[i];
        struct mpr_process_heap *heap = mpr_alloc(t->heaps, sizeof *heap);
        for (size_t k = 0; k < t->heaps; k++) {
            const struct mpr_heap_line *h = &t->heap[k];
            heap[k] = (struct mpr_process_heap){ h->heap, h->peak_bytes, h->peak_time, h->end_bytes,
                                                 h->is_about };
        }
        mpr_processes_add_read(family, &t->summary, heap, t->heaps);
        free(heap);
    }
    mpr_processes_finish(family);
}

/* Of a few logs of all, and of many of those that the page opens with: they take more readings. */
static void find(struct findings *f, const struct runs *runs, const struct mpr_page *page)
{
    const struct mpr_progress progress = mpr_bar();
    const size_t dead = killed(runs);
    struct mpr_error none;
    f->of = mpr_alloc(runs->count, sizeof *f->of);
    if (runs->count > 1) read_family(runs, &f->family);
    for (size_t i = 0; i < runs->count; i++) {
        if (runs->count > FOUND_LOGS && i != page->base && i != page->now && i != dead) continue;
        struct mpr_insights *in = mpr_alloc(1, sizeof *in);
        const struct mpr_insights_known known = { &runs->at[i].best, runs->at[i].compared };
        if (mpr_insights_read(in, runs->at[i].summary.path, runs->count > 1 ? &f->family : NULL,
                              &known, &progress, &none) == 0)
            f->of[i] = in;
        else free(in);
    }
    mpr_bar_clear();
}

static void free_findings(struct findings *f, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (f->of[i]) mpr_insights_free(f->of[i]);
        free(f->of[i]);
    }
    free(f->of);
    mpr_processes_free(&f->family);
}

/* ---- all */

static int write_page(struct arguments *a, const struct runs *runs)
{
    struct mpr_diff diff;
    struct mpr_page page = { .timeline = runs->at, .count = runs->count };
    struct findings findings = { 0 };
    page.naming = &a->output.naming;
    if (compare(a, runs, &page, &diff)) page.diff = &diff;
    bool *alike = mpr_alloc(runs->count, sizeof *alike);
    mpr_outlier_alike(runs->at, runs->count, alike);
    page.alike = alike;
    find(&findings, runs, &page);
    page.insights = (const struct mpr_insights *const *)findings.of;
    int status = mpr_output_open(&a->output);
    if (status == 0) {
        mpr_html_write(a->output.to.file, &page);
        status = mpr_output_close(&a->output);
    }
    free_findings(&findings, runs->count);
    free(alike);
    mpr_diff_free(&diff);
    return status;
}

int mpr_cmd_html(int argc, char **argv)
{
    struct arguments a = { .output = mpr_output_default() };
    a.output.path = "memprof.html";
    mpr_takes_parse(&takes, argc, argv, &a, &a);
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
