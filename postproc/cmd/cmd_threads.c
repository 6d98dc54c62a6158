#include "cmd.h"
#include "options.h"
#include "reports.h"
#include "selection.h"
#include "thread_use.h"

static const struct mpr_option options[] = {
    { "heap", 0, "NAME", MPR_HEAP_HELP, .set = mpr_set_heap },
    { 0 },
};

static void *read_log(void *chosen, const char *path, const struct mpr_progress *progress,
                      bool *incomplete, struct mpr_error *error)
{
    static struct mpr_thread_use use;
    const uint8_t *heap = chosen;
    if (mpr_thread_use_read(&use, path, *heap, progress, error) != 0) return NULL;
    *incomplete = use.peaks.log[0].summary.incomplete;
    return &use;
}

static void describe(struct mpr_document *doc, const void *result)
{
    mpr_report_threads(doc, result);
}

static void release(void *result) { mpr_thread_use_free(result); }

int mpr_cmd_threads(int argc, char **argv)
{
    uint8_t chosen = 0; /* any heap */
    const struct mpr_one one = {
        .doc =
            "Shows what each thread held at each heap's peak and at the end, what it allocated in all, and when it lived."
            "\vExamples:\n"
            "  memprof-report threads memprof.n03.4242.zst\n"
            "  memprof-report threads --heap host/heap --format csv LOG\n\n"
            "Exit status: 0 fine, 1 failure, 2 wrong usage, 3 the log is incomplete.",
        .read = read_log,
        .describe = describe,
        .free = release,
        .options = options,
        .chosen = &chosen,
        .heap = &chosen,
    };
    return mpr_one_run(&one, argc, argv);
}
