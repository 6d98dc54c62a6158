#include <string.h>

#include "cmd.h"
#include "leaks.h"
#include "options.h"
#include "reports.h"
#include "selection.h"

struct chosen {
    struct mpr_leaks_options leaks;
    const char *at;
};

static const struct mpr_option options[] = {
    { "by", 'b', MPR_BY_WORDS, MPR_BY_HELP, MPR_TO_BY(struct chosen, leaks.by) },
    { "at", 0, "TIME", "what lives then, and grew until then: " MPR_INSTANTS " (default: end)",
      MPR_TO_INSTANT(struct chosen, at) },
    { "range", 0, "NAME",
      "growth is told by the instances of this range (step, \"epoch > step\"), with or without numbers; otherwise by the outermost one that repeats",
      MPR_TO_TEXT(struct chosen, leaks.range) },
    { "every", 0, "TIME", "growth is told by the clock, for example each 1s or 500ms",
      MPR_TO_LENGTH(struct chosen, leaks.every) },
    { "heap", 0, "NAME", MPR_HEAP_HELP, MPR_TO_HEAP(struct chosen, leaks.heap) },
    { 0 },
};

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
        .chosen = &chosen,
        .heap = &chosen.leaks.heap,
    };
    return mpr_one_run(&one, argc, argv);
}
