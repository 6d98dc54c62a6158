#include "cmd.h"
#include "leaks.h"
#include "logs.h"
#include "reports.h"
#include "selection.h"

enum { KEY_HEAP = 256, KEY_RANGE, KEY_EVERY, KEY_AT };

static const struct argp_option options[] = {
    { "by", 'b', "WHAT", 0, MPR_BY_HELP, 2 },
    { "at", KEY_AT, "TIME", 0,
      "what lives then, and grew until then: end (default), or 12.5s, 00:01:30.250, step:12.end",
      2 },
    { "range", KEY_RANGE, "NAME", 0,
      "growth is told by the instances of this range (step, \"epoch > step\"), with or without numbers; otherwise by the outermost one that repeats",
      2 },
    { "every", KEY_EVERY, "TIME", 0, "growth is told by the clock, for example each 1s or 500ms",
      2 },
    { "heap", KEY_HEAP, "NAME", 0, "this heap only, for example host/heap", 2 },
    { 0 },
};

struct arguments {
    struct mpr_output output;
    struct mpr_logs logs;
    struct mpr_leaks_options leaks;
    const char *at;
};

/* A length of time is written as a time since the beginning is. */
static uint64_t every(const char *arg, struct argp_state *state)
{
    struct mpr_instant length;
    if (!mpr_instant_parse(arg, &length) || !length.from)
        argp_error(state, "--every=%s: a length of time such as 1s or 500ms is wanted", arg);
    return length.from;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->logs;
        state->child_inputs[1] = &a->output;
        return 0;
    case 'b': a->leaks.by = mpr_selection_by(arg, state); return 0;
    case KEY_RANGE: a->leaks.range = arg; return 0;
    case KEY_EVERY: a->leaks.every = every(arg, state); return 0;
    case KEY_AT:
        mpr_selection_check_instant(arg, "at", state);
        a->at = arg;
        return 0;
    case KEY_HEAP:
        a->leaks.heap = mpr_selection_heap(
            arg,
            "host/heap, host/mmap, host/shm, host/pinned or, of a GPU, gpu0/device, gpu0/torch, ...",
            state);
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = { { &mpr_logs_argp, 0, "Which logs:", 1 },
                                              { &mpr_output_argp, 0, "Output:", 3 },
                                              { 0 } };
static const struct argp argp = {
    options,
    parse,
    NULL,
    "Shows what lives at the end, or at another time, by site and range, and what grows with each instance of a repeated range."
    "\vExamples:\n"
    "  memprof-report leaks memprof.n03.4242.zst\n"
    "  memprof-report leaks --range request --by stack LOG\n"
    "  memprof-report leaks --every 1s --at 00:10:00 LOG\n\n"
    "Exit status: 0 fine, 1 failure, 2 wrong usage, 3 the log is incomplete.",
    children,
    NULL,
    NULL,
};

static void describe(struct mpr_document *doc, const void *result)
{
    mpr_report_leaks(doc, result);
}

static int read_log(const struct arguments *a, const char *path, struct mpr_leaks *leaks,
                    struct mpr_error *error)
{
    const struct mpr_progress progress = mpr_bar();
    struct mpr_leaks_options chosen = a->leaks;
    int status =
        mpr_selection_instant(a->at ? a->at : "end", 0, path, NULL, &progress, &chosen.at, error);
    if (status == 0) status = mpr_leaks_read(leaks, path, &chosen, &progress, error);
    mpr_bar_clear();
    return status;
}

static int report(struct arguments *a, const char *path)
{
    struct mpr_leaks leaks;
    struct mpr_error error;
    if (read_log(a, path, &leaks, &error) != 0) {
        mpr_cmd_error(&error);
        return MPR_EXIT_FAILURE;
    }
    const int status =
        mpr_output_document(&a->output, describe, &leaks, leaks.peaks.log[0].summary.incomplete);
    mpr_leaks_free(&leaks);
    return status;
}

int mpr_cmd_leaks(int argc, char **argv)
{
    struct arguments a = { .output = mpr_output_default(), .leaks = { .by = MPR_GROUP_AUTO } };
    mpr_cmd_parse(&argp, argc, argv, &a);
    const char *path = mpr_logs_one(&a.logs);
    return mpr_logs_close(&a.logs, path ? report(&a, path) : MPR_EXIT_FAILURE);
}
