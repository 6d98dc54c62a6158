#include <string.h>

#include "cmd.h"
#include "leaks.h"
#include "reports.h"
#include "selection.h"

enum { KEY_HEAP = 256, KEY_RANGE, KEY_EVERY, KEY_AT };

static const struct argp_option options[] = {
    { "by", 'b', MPR_BY_WORDS, 0, MPR_BY_HELP, 1 },
    { "at", KEY_AT, "TIME", 0,
      "what lives then, and grew until then: " MPR_INSTANTS " (default: end)", 1 },
    { "range", KEY_RANGE, "NAME", 0,
      "growth is told by the instances of this range (step, \"epoch > step\"), with or without numbers; otherwise by the outermost one that repeats",
      1 },
    { "every", KEY_EVERY, "TIME", 0, "growth is told by the clock, for example each 1s or 500ms",
      1 },
    { "heap", KEY_HEAP, "NAME", 0, "this heap only, for example host/heap", 1 },
    { 0 },
};

struct chosen {
    struct mpr_leaks_options leaks;
    const char *at;
};

static error_t parse(void *chosen, int key, char *arg, struct argp_state *state)
{
    struct chosen *a = chosen;
    switch (key) {
    case 'b': a->leaks.by = mpr_selection_by(arg, state); return 0;
    case KEY_RANGE: a->leaks.range = arg; return 0;
    case KEY_EVERY: a->leaks.every = mpr_selection_length(arg, "every", state); return 0;
    case KEY_AT:
        mpr_selection_check_instant(arg, "at", state);
        a->at = arg;
        return 0;
    case KEY_HEAP: a->leaks.heap = mpr_selection_heap(arg, MPR_HEAPS_WANTED, state); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static void *read_log(void *chosen, const char *path, const struct mpr_progress *progress,
                      bool *incomplete, struct mpr_error *error)
{
    static struct mpr_leaks leaks;
    struct chosen *a = chosen;
    a->leaks.at_end = strcmp(a->at, "end") == 0;
    if ((!a->leaks.at_end && mpr_selection_instant(a->at, 0, path, a->leaks.heap, progress,
                                                   &a->leaks.at, error) != 0) ||
        mpr_leaks_read(&leaks, path, &a->leaks, progress, error) != 0)
        return NULL;
    *incomplete = leaks.peaks.log[0].summary.incomplete;
    return &leaks;
}

static void describe(struct mpr_document *doc, const void *result)
{
    mpr_report_leaks(doc, result);
}

static void release(void *result) { mpr_leaks_free(result); }

int mpr_cmd_leaks(int argc, char **argv)
{
    struct chosen chosen = { .leaks = { .by = MPR_GROUP_AUTO }, .at = "end" };
    const struct mpr_one one = {
        .doc =
            "Shows what lives at the end, or at another time, by site and range, and what grows with each instance of a repeated range."
            "\vExamples:\n"
            "  memprof-report leaks memprof.n03.4242.zst\n"
            "  memprof-report leaks --range request --by stack LOG\n"
            "  memprof-report leaks --every 1s --at 00:10:00 LOG\n\n"
            "Exit status: 0 fine, 1 failure, 2 wrong usage, 3 the log is incomplete.",
        .read = read_log,
        .describe = describe,
        .free = release,
        .has_stacks = true,
        .options = options,
        .parse = parse,
        .chosen = &chosen,
        .heap = &chosen.leaks.heap,
    };
    return mpr_one_run(&one, argc, argv);
}
