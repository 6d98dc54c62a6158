#include "cmd.h"
#include "reports.h"
#include "verify.h"

static struct mpr_verify verify;

static void *read_log(void *chosen, const char *path, const struct mpr_progress *progress,
                      bool *incomplete, struct mpr_error *error)
{
    (void)chosen;
    if (mpr_verify_read(&verify, path, progress, error) != 0) return NULL;
    *incomplete = verify.summary.incomplete;
    return &verify;
}

static void describe(struct mpr_document *doc, const void *result)
{
    mpr_report_verify(doc, result);
}

static void release(void *result) { mpr_verify_free(result); }

int mpr_cmd_verify(int argc, char **argv)
{
    static const struct mpr_one one = {
        .doc = "Checks every frame of a log and says up to which offset and time it is good."
               "\vExamples:\n  memprof-report verify memprof.n03.4242.zst\n\n"
               "Exit status: 0 good, 1 failure, 2 wrong usage, 3 the log is incomplete.",
        .read = read_log,
        .describe = describe,
        .free = release,
    };
    return mpr_one_run(&one, argc, argv);
}
