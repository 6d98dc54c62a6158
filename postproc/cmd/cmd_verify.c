#include "cmd.h"
#include "reports.h"
#include "verify.h"

static int add(void *result, const char *path, const struct mpr_progress *progress,
               struct mpr_error *error)
{
    return mpr_verify_add(result, path, progress, error);
}

static bool finish(void *result, bool *incomplete)
{
    const struct mpr_verify *verify = result;
    *incomplete = verify->incomplete;
    return verify->logs;
}

static void describe(struct mpr_document *doc, const void *result)
{
    mpr_report_verify(doc, result);
}

static void release(void *result) { mpr_verify_free(result); }

int mpr_cmd_verify(int argc, char **argv)
{
    struct mpr_verify verify = { 0 };
    const struct mpr_all all = {
        .doc =
            "Checks every frame of each log and says up to which offset and time it is good."
            "\vExamples:\n  memprof-report verify memprof.n03.4242.zst\n  memprof-report verify logs/\n\n"
            "Exit status: 0 good, 1 failure, 2 wrong usage, 3 a log is incomplete.",
        .add = add,
        .finish = finish,
        .describe = describe,
        .free = release,
        .result = &verify,
    };
    return mpr_all_run(&all, argc, argv);
}
