#include <stdlib.h>

#include "alloc.h"
#include "cmd.h"
#include "diff.h"
#include "html.h"
#include "insights.h"
#include "ooms.h"
#include "page_runs.h"
#include "process_tree.h"
#include "timeline.h"
#include "verdict.h"

/* The amount of data for each heap: on a page of one or two logs, and on a page of more. */
static const struct mpr_timeline_options detailed = { .by = MPR_GROUP_ALL,
                                                      .to = UINT64_MAX,
                                                      .buckets = 8192,
                                                      .bands = 256,
                                                      .changes = 100000,
                                                      .lifetimes = 4096,
                                                      .places = 4096,
                                                      .flows = 24000,
                                                      .boxes = 4096,
                                                      .instants = 128,
                                                      .segments = 24576,
                                                      .exact = 512,
                                                      .estimates = true };
static const struct mpr_timeline_options small = { .by = MPR_GROUP_ALL,
                                                   .to = UINT64_MAX,
                                                   .buckets = 1024,
                                                   .bands = 96,
                                                   .changes = 12000,
                                                   .lifetimes = 300,
                                                   .places = 300,
                                                   .flows = 2000,
                                                   .boxes = 512,
                                                   .instants = 32,
                                                   .segments = 1024,
                                                   .exact = 128,
                                                   .estimates = true };
static const struct mpr_peaks_options compared = { .by = MPR_GROUP_AUTO, .at = MPR_INSTANT_PEAK };
enum { DETAILED_LOGS = 2, SHARED_LOGS = 8, FOUND_LOGS = 16 };

static const struct mpr_option options[] = {
    { "output", 'o', "FILE", "write to FILE (default: memprof.html); - is standard output",
      MPR_TO(mpr_set_output_path, const char *, struct mpr_args, output.path) },
    { 0 },
};

static const struct mpr_cmdline cmdline = {
    .doc = "Writes one HTML file that shows runs over time and compares them. It needs no network."
           "\vExamples:\n"
           "  memprof-report html memprof.n03.4242.zst\n"
           "  memprof-report html base.zst fp8.zst -o compare.html\n"
           "  memprof-report html -o ranks.html logs/",
    .options = options,
    .no_output = true,
};

/* ---- timelines */

struct runs {
    struct mpr_timeline *at;
    size_t count;
    bool incomplete;
    bool with_findings;                    /* each log is read once, for timeline and findings */
    struct mpr_insights **insights;        /* by run, or NULL without findings */
    struct mpr_insights_reading **reading; /* by run, if the insights are not finished yet, or NULL
                                            */
    struct mpr_processes processes;
    struct mpr_timeline_options options;
};

static int add(void *to, const char *path, const struct mpr_progress *progress,
               struct mpr_error *error)
{
    struct runs *runs = to;
    struct mpr_timeline *t = &runs->at[runs->count];
    if (runs->with_findings) {
        struct mpr_insights *in = mpr_alloc(1, sizeof *in);
        if (mpr_page_runs_read(t, in, &runs->reading[runs->count], path, &runs->options, progress,
                               error) != 0) {
            free(in);
            return -1;
        }
        runs->insights[runs->count] = in;
    } else if (mpr_timeline_read(t, path, &runs->options, progress, error) != 0) return -1;
    runs->incomplete |= t->summary.incomplete;
    runs->count++;
    return 0;
}

/* ---- two runs */

/* Compares two runs, or of more the outlier and the median.  Returns false if two processes belong
 * together because one started or became the other, if there is no outlier, or if a log cannot be
 * read again. */
static bool compare(const struct runs *runs, struct mpr_page *page, struct mpr_diff *diff)
{
    const struct mpr_progress progress = mpr_bar();
    struct mpr_error error;
    struct mpr_outlier found = { .outlier = 1 };
    bool good = runs->count == 2 || mpr_page_runs_outlier(runs->at, runs->count, &found);
    for (size_t i = 0; runs->count == 2 && i < 2; i++)
        good &= page->tree[i].parent == MPR_NO_PROCESS &&
                page->tree[i].previous_program == MPR_NO_PROCESS;
    if (good) {
        page->base = found.median;
        page->now = found.outlier;
        page->differs_in = found.heap;
    }
    const size_t pair[] = { page->base, page->now };
    mpr_diff_init(diff, &compared);
    for (size_t i = 0; good && i < 2; i++) {
        const struct mpr_timeline *t = &runs->at[pair[i]];
        diff->peaks.options.choice = &t->best; /* known from the timeline */
        good =
            mpr_diff_add(diff, i == 0, t->summary.path, MPR_INSTANT_PEAK, &progress, &error) == 0;
    }
    if (good) mpr_diff_finish(diff, page->naming->user_frames);
    mpr_bar_clear();
    return good;
}

/* ---- findings */

/* Returns true if the process ran out of memory, or may have. */
static bool has_failed(const struct mpr_insights *in)
{
    return in && (in->oom.told || in->refused.count || in->died);
}

/* Returns the run that the page shows first: one whose process was killed when memory ran out, else
 * one that ran out of device memory.  Of several it is the one with the largest peak. */
static size_t find_opened(const struct runs *runs)
{
    enum { FINE, REFUSED, KILLED };
    size_t opened = 0;
    uint64_t largest = 0;
    int worst = FINE;
    for (size_t i = 0; i < runs->count; i++) {
        const struct mpr_timeline *t = &runs->at[i];
        const int fate = t->summary.oom != MPR_FATE_NO_OOM ? KILLED : t->oom.known ? REFUSED : FINE;
        const uint64_t peak = t->heaps ? t->heap[0].peak_bytes : 0;
        if (fate < worst || (fate == worst && peak <= largest)) continue;
        worst = fate;
        largest = peak;
        opened = i;
    }
    return opened;
}

/* Finds the relations between the processes from the timelines.  If there are few logs, findings
 * also name the processes that share a GPU, for which the logs are read once more. */
static void read_processes(const struct runs *runs, struct mpr_processes *processes)
{
    for (size_t i = 0; i < runs->count; i++) {
        const struct mpr_timeline *t = &runs->at[i];
        struct mpr_process_heap *heap = mpr_alloc(t->heaps, sizeof *heap);
        for (size_t k = 0; k < t->heaps; k++) {
            const struct mpr_heap_timeline *h = &t->heap[k];
            heap[k] = (struct mpr_process_heap){ h->heap, h->peak_bytes, h->peak_time, h->end_bytes,
                                                 h->is_approximate };
        }
        mpr_processes_add_read(processes, &t->summary, heap, t->heaps);
        struct mpr_process *p = &processes->at[i];
        const size_t gpus = runs->count <= SHARED_LOGS ? t->accounts : 0;
        p->uuid = mpr_arena_alloc(&processes->arena, gpus * sizeof *p->uuid);
        for (; p->uuids < gpus; p->uuids++) p->uuid[p->uuids] = t->account[p->uuids].uuid;
        free(heap);
    }
    mpr_processes_finish(processes);
}

/* If there are many logs, reads only those that the page shows first. */
static void read_findings(struct runs *runs, const struct mpr_page *page)
{
    const struct mpr_progress progress = mpr_bar();
    const struct mpr_processes *processes = runs->count > 1 ? &runs->processes : NULL;
    struct mpr_error error;
    if (processes) read_processes(runs, &runs->processes);
    for (size_t i = 0; i < runs->count; i++) {
        if (runs->reading[i]) mpr_insights_finish(runs->reading[i], processes, &progress);
        else if (runs->count <= FOUND_LOGS || i == page->base || i == page->now ||
                 i == page->opened) {
            struct mpr_insights *in = mpr_alloc(1, sizeof *in);
            if (mpr_insights_read(in, runs->at[i].summary.path, processes, true, &progress,
                                  &error) == 0)
                runs->insights[i] = in;
            else free(in);
        }
    }
    mpr_bar_clear();
}

/* Reads the out-of-memory events for the cards.  If any process failed, reads all logs of a small
 * run, because `oom` compares them. */
static void read_ooms(const struct runs *runs, struct mpr_ooms *ooms)
{
    const struct mpr_progress progress = mpr_bar();
    struct mpr_error error;
    bool failed = false;
    for (size_t i = 0; i < runs->count; i++) failed |= has_failed(runs->insights[i]);
    for (size_t i = 0; failed && i < runs->count; i++)
        if (runs->count <= FOUND_LOGS || has_failed(runs->insights[i]))
            mpr_ooms_add(ooms, runs->at[i].summary.path, &progress, &error);
    if (ooms->logs > 1) mpr_ooms_finish(ooms, &progress);
    mpr_bar_clear();
}

/* Compares the ranks, unless that would take long, and adds the findings about them to each rank's.
 */
static void read_job(const struct runs *runs, struct mpr_page *page,
                     const struct mpr_output *output, struct mpr_job *job)
{
    enum { EVENTS = 50000000 }; /* each log is read again for its digest */
    uint64_t events = 0;
    for (size_t i = 0; i < runs->count; i++) events += runs->at[i].summary.events;
    if (runs->count < 2 || runs->count > FOUND_LOGS || events > EVENTS) return;
    mpr_job_read(job, runs->at[page->opened].summary.path, &runs->processes, output);
    if (!job->exists) return;
    page->ranks = &job->ranks;
    for (size_t i = 0; i < runs->count; i++)
        if (runs->insights[i] && *runs->at[i].summary.process.rank)
            mpr_ranks_findings(&job->ranks, runs->insights[i]);
}

/* Returns the parent of each run. */
static struct mpr_process_tree *find_tree(const struct runs *runs)
{
    const struct mpr_summary **log = mpr_alloc(runs->count, sizeof *log);
    struct mpr_process_tree *tree = mpr_alloc(runs->count, sizeof *tree);
    for (size_t i = 0; i < runs->count; i++) log[i] = &runs->at[i].summary;
    mpr_process_tree_find(log, runs->count, tree);
    free(log);
    return tree;
}

/* ---- the page */

static int write_page(struct mpr_output *output, struct runs *runs)
{
    struct mpr_diff diff;
    struct mpr_page page = { .timeline = runs->at,
                             .count = runs->count,
                             .naming = &output->naming };
    struct mpr_process_tree *tree = find_tree(runs);
    page.tree = tree;
    page.opened = find_opened(runs);
    if (compare(runs, &page, &diff)) page.diff = &diff;
    bool *alike = mpr_alloc(runs->count, sizeof *alike);
    mpr_page_runs_peers(runs->at, runs->count, alike);
    page.alike = alike;
    read_findings(runs, &page);
    page.insights = (const struct mpr_insights *const *)runs->insights;
    struct mpr_ooms ooms = { .by = MPR_GROUP_AUTO };
    struct mpr_job job = { .exists = false };
    read_ooms(runs, &ooms);
    read_job(runs, &page, output, &job);
    page.ooms = &ooms;
    struct mpr_verdict verdict = { .of = NULL };
    if (page.diff) {
        mpr_verdict_find(&verdict, &diff, page.naming, page.insights[page.base],
                         page.insights[page.now]);
        page.verdict = &verdict;
    }
    int status = mpr_output_open(output);
    if (status == 0) {
        mpr_html_write(output->to.file, &page);
        status = mpr_output_close(output);
    }
    free(alike);
    free(tree);
    mpr_job_free(&job);
    mpr_verdict_free(&verdict);
    mpr_ooms_free(&ooms);
    mpr_diff_free(&diff);
    return status;
}

int mpr_cmd_html(int argc, char **argv)
{
    struct mpr_args a = mpr_args_default();
    a.output.path = "memprof.html";
    mpr_cmdline_parse(&cmdline, argc, argv, &a);
    if (!mpr_html_available()) {
        mpr_cmd_say(
            "built without the page: install Node 18 or later with npm (apt-get install nodejs npm), "
            "then configure and build memprof again");
        return MPR_EXIT_FAILURE;
    }
    mpr_logs_choose(&a.logs);
    const size_t count = a.logs.paths.count;
    struct runs runs = { .at = mpr_alloc(count, sizeof *runs.at),
                         .with_findings = count <= FOUND_LOGS,
                         .insights = mpr_alloc(count, sizeof *runs.insights),
                         .reading = mpr_alloc(count, sizeof *runs.reading),
                         .options = count > DETAILED_LOGS ? small : detailed };
    runs.options.naming = &a.output.naming;
    mpr_logs_each(&a.logs, add, &runs);
    a.logs.failed |= !runs.count || write_page(&a.output, &runs) != 0;
    for (size_t i = 0; i < runs.count; i++) {
        mpr_timeline_free(&runs.at[i]);
        if (runs.insights[i]) mpr_insights_free(runs.insights[i]);
        free(runs.insights[i]);
    }
    free(runs.insights);
    free(runs.reading);
    mpr_processes_free(&runs.processes);
    free(runs.at);
    return mpr_args_close(&a, runs.incomplete ? MPR_EXIT_INCOMPLETE : MPR_EXIT_FINE);
}
