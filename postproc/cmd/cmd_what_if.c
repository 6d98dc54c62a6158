/* what-if: PyTorch's reserved memory with other settings of its allocator. */
#include <string.h>

#include "cmd.h"
#include "reports.h"
#include "what_if.h"

struct what_if_args {
    struct mpr_args common;
    struct mpr_what_if_options options;
    struct mpr_caching_settings recorded;
};

static void parse(struct mpr_caching_settings *settings, const struct mpr_given *given)
{
    char error[200];
    if (mpr_caching_settings_parse(settings, given->text, error, sizeof error) == 0) return;
    argp_error(given->state, "invalid --%s: %s", given->option->name, error);
}

static void set_settings(void *value, const struct mpr_given *given)
{
    struct what_if_args *a = value;
    a->options.settings = mpr_caching_settings_default();
    a->options.text = given->text;
    parse(&a->options.settings, given);
}

static void set_recorded(void *value, const struct mpr_given *given)
{
    struct what_if_args *a = value;
    a->recorded = mpr_caching_settings_default();
    a->options.recorded = &a->recorded;
    parse(&a->recorded, given);
}

static const struct mpr_option options[] = {
    { "alloc-conf", 0, "SETTINGS",
      "the settings to try, as in PYTORCH_CUDA_ALLOC_CONF: expandable_segments, max_split_size_mb, "
      "max_non_split_rounding_mb, roundup_power2_divisions, garbage_collection_threshold, "
      "per_process_memory_fraction",
      .set = set_settings },
    { "recorded-conf", 0, "SETTINGS",
      "the settings that the run had (default: PyTorch's defaults, with expandable segments if the "
      "log has them)",
      .set = set_recorded },
    { 0 },
};

static void check(void *args, struct argp_state *state)
{
    const struct what_if_args *a = args;
    if (!a->options.text)
        argp_error(state, "expected --alloc-conf=SETTINGS, such as expandable_segments:True");
}

static const struct mpr_cmdline cmdline = {
    .doc =
        "Computes the device memory that PyTorch would have reserved with other settings of its caching allocator, by replaying the "
        "requests of a log. First it checks that a replay with the run's own settings gives the recorded addresses."
        "\vExamples:\n"
        "  memprof-report what-if --alloc-conf expandable_segments:True LOG\n"
        "  memprof-report what-if --alloc-conf max_split_size_mb:128 LOG",
    .options = options,
    .check = check,
};

static int make(struct mpr_log_report *report)
{
    const struct what_if_args *a = (const struct what_if_args *)report->args;
    struct mpr_what_if result;
    if (mpr_what_if_read(&result, report->path, &a->options, &report->progress, &report->error) !=
        0)
        return -1;
    mpr_report_what_if(mpr_log_report_begin(report), &result);
    mpr_log_report_end(report, result.summary.incomplete);
    mpr_what_if_free(&result);
    return 0;
}

int mpr_cmd_what_if(int argc, char **argv)
{
    struct what_if_args a = { .common = mpr_args_default() };
    mpr_cmdline_parse(&cmdline, argc, argv, &a);
    return mpr_log_report_run(&a.common, MPF_HEAP_NONE, make);
}
