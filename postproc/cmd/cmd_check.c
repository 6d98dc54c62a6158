#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "check.h"
#include "cmd.h"
#include "reports.h"

struct args {
    struct mpr_args common;
    struct mpr_budget budget;
    const char *against, *junit;
    double tolerance, headroom; /* fractions */
    bool limited;               /* by --max or --budget, which may have no line */
    bool suggest;
};

/* Ends the process with the error of a budget, if there is one. */
static void require_budget(int status, const struct mpr_error *error)
{
    if (status == 0) return;
    mpr_cmd_error(error);
    exit(MPR_EXIT_USAGE);
}

static void add_max(void *value, const struct mpr_given *given)
{
    const char *text = given->text;
    struct args *a = value;
    struct mpr_error error;
    a->limited = true;
    if (text[strcspn(text, "= ")] == ' ') { /* the name of a heap has no blank */
        char *line = mpr_text_copy(text);
        const int status = mpr_budget_line(&a->budget, line, "--max", &error);
        free(line);
        require_budget(status, &error);
        return;
    }
    struct mpr_limit limit = { .name = "", .from = "--max" };
    const size_t heap_length = strcspn(text, "="), size_at = heap_length + !!text[heap_length],
                 size_length = strcspn(text + size_at, ",");
    char *heap = mpr_text_copy_part(text, heap_length),
         *size = mpr_text_copy_part(text + size_at, size_length);
    limit.kind = mpr_budget_kind(heap);
    limit.heap = mpr_heap_named(heap);
    const bool known = limit.kind != MPR_LIMIT_HEAP || limit.heap;
    if (text[heap_length] && heap_length && !known)
        argp_error(
            given->state,
            "invalid --%s '%s': unknown heap '%s', expected rss, cgroup, " MPR_HEAPS_EXPECTED,
            given->option->name, text, heap);
    const bool good = known && mpr_budget_size(size, &limit.bytes);
    const char *after = text + size_at + size_length;
    free(heap);
    free(size);
    limit.optional = *after && strcmp(after + 1 + strspn(after + 1, " "), "optional") == 0;
    if (!good || (*after && !limit.optional))
        mpr_option_invalid(given, "HEAP=SIZE, such as host/heap=500MiB or gpu0/torch=12GiB");
    mpr_budget_add(&a->budget, &limit);
}

static void add_budget(void *value, const struct mpr_given *given)
{
    struct args *a = value;
    struct mpr_error error;
    a->limited = true;
    require_budget(mpr_budget_read(&a->budget, given->text, &error), &error);
}

static void set_percent(void *value, const struct mpr_given *given)
{
    char *end;
    const double percent = strtod(given->text, &end);
    if (end == given->text || (*end && strcmp(end, "%") != 0) || !(percent >= 0 && percent <= 1e6))
        mpr_option_invalid(given, "a percentage, such as 2%");
    *(double *)value = percent / 100;
}

static void check_usage(void *args, struct argp_state *state)
{
    const struct args *a = args;
    const bool limited = a->limited || a->against;
    if (a->suggest && (limited || a->junit || a->common.output.renderer != &mpr_render_text))
        argp_error(
            state,
            "--suggest checks nothing and cannot be combined with --max, --budget, --against, --junit or "
            "--format");
    if (!a->suggest && !limited)
        argp_error(state, "expected a limit (--max, --budget or --against) or --suggest");
    if (a->junit && !mpr_output_path(a->junit) && !a->common.output.path)
        argp_error(
            state,
            "--junit=- needs --output=FILE, because the report also goes to standard output");
}

static const struct mpr_option options[] = {
    { "max", 0, "HEAP=SIZE[,optional]",
      "limit of the heap's peak, such as host/heap=500MiB, of resident memory (rss=2GiB) or of the "
      "charge of the memory cgroup (cgroup=4GiB); with optional the heap need not exist. Also takes a "
      "line of a budget, in quotes",
      .set = add_max },
    { "budget", 0, "FILE",
      "read limits from FILE, one per line: heap NAME SIZE, range \"PATH\" HEAP SIZE, line \"TEXT\" "
      "HEAP SIZE, thread NAME HEAP SIZE, role NAME HEAP SIZE, rss SIZE or cgroup SIZE; a line that ends "
      "with optional may match nothing",
      .set = add_budget },
    { "against", 0, "BASE",
      "the log BASE is the limit for each heap, device, the communicators, the graphs, and each of "
      "their lines",
      MPR_TO_TEXT(struct args, against) },
    { "tolerance", 0, "PERCENT",
      "allow this much more than in BASE, as a share of its bytes (of the heap's peak for a line) "
      "(default: 2%)",
      MPR_TO(set_percent, double, struct args, tolerance) },
    { "junit", 0, "FILE", "write the limits to FILE as JUnit tests, for CI",
      MPR_TO_TEXT(struct args, junit) },
    { "suggest", 0, NULL, "check nothing, and print a budget that the log keeps, for --budget",
      MPR_TO_FLAG(struct args, suggest) },
    { "headroom", 0, "PERCENT", "add this much to the values of --suggest (default: 10%)",
      MPR_TO(set_percent, double, struct args, headroom) },
    { 0 },
};

static const struct mpr_cmdline cmdline = {
    .doc =
        "Checks that runs keep their memory limits, for CI. Prints a line for each limit that is exceeded, and ends with exit status 4."
        "\vExamples:\n"
        "  memprof-report check --max host/heap=500MiB --max gpu0/torch=12GiB LOG\n"
        "  memprof-report check --suggest LOG > budget.txt\n"
        "  memprof-report check --budget budget.txt --junit memory.xml LOG\n"
        "  memprof-report check --against base.zst --tolerance 5% LOG",
    .exit =
        "0 all limits are kept, 1 failure, 2 wrong usage or a malformed budget, 3 a log is incomplete, 4 a limit is exceeded, 5 a limit matches nothing",
    .options = options,
    .check = check_usage,
};

/* ---- --suggest */

static void write_budget(const struct mpr_renderer *renderer, FILE *out, const void *result,
                         const struct mpr_style *style)
{
    const struct mpr_budget *budget = result;
    (void)renderer, (void)style;
    for (size_t i = 0; i < budget->limits; i++) {
        const struct mpr_limit *limit = &budget->limit[i];
        fprintf(out, "%s ", mpr_limit_words[limit->kind]);
        if (limit->kind == MPR_LIMIT_ROLE) fprintf(out, "%s ", limit->name);
        else if (*limit->name) fprintf(out, "\"%s\" ", limit->name);
        fprintf(out, "%s %" PRIu64 "\n", limit->account, limit->bytes);
    }
}

static int suggest(struct args *a, struct mpr_check *check)
{
    struct mpr_budget budget = { 0 };
    struct mpr_error error;
    int status = MPR_EXIT_FAILURE;
    const char *path = mpr_logs_one(&a->common.logs);
    if (!path) return status;
    const struct mpr_progress progress = mpr_bar();
    a->common.output.for_tools = true;
    if (mpr_check_suggest(check, &budget, a->headroom, path, &progress, &error) == 0) {
        mpr_bar_clear();
        status = mpr_output_report(&a->common.output, write_budget, &budget, false);
    } else mpr_cmd_error(&error);
    mpr_budget_free(&budget);
    return status;
}

/* ---- checks */

static int add(void *check, const char *path, const struct mpr_progress *progress,
               struct mpr_error *error)
{
    return mpr_check_add(check, path, progress, error);
}

/* Compares one log with one of the base.  If the base has several, --pid and --rank also choose
 * among these. */
static void check_against(struct args *a, struct mpr_check *check, struct mpr_diff *diff)
{
    struct mpr_logs *logs = &a->common.logs, base = { 0 };
    struct mpr_error error;
    base.failed = !mpr_paths_add(&base.paths, a->against);
    if (base.paths.count > 1) {
        base.pid = logs->pid;
        base.rank = logs->rank;
    }
    const char *old_path = base.failed ? NULL : mpr_logs_one(&base),
               *path = old_path ? mpr_logs_one(logs) : NULL;
    bool good = false;
    if (path) {
        const struct mpr_progress progress = mpr_bar();
        good = mpr_diff_add(diff, true, old_path, MPR_INSTANT_PEAK, &progress, &error) == 0 &&
               mpr_diff_add(diff, false, path, MPR_INSTANT_PEAK, &progress, &error) == 0;
        mpr_bar_clear();
        if (!good) mpr_cmd_error(&error);
    }
    if (good) {
        mpr_diff_finish(diff, check->naming->user_frames);
        mpr_check_against(check, diff, a->tolerance);
    } else logs->failed = true;
    mpr_logs_close(&base, MPR_EXIT_FINE);
}

static int report(struct args *a, const struct mpr_check *check, bool incomplete)
{
    struct mpr_document doc;
    struct mpr_destination to;
    bool written = true;
    if (a->junit) {
        written = mpr_destination_open(&to, a->junit) == 0;
        if (written) {
            mpr_junit_write(to.file, check, check->naming);
            written = mpr_destination_close(&to, true) == 0;
        }
    }
    mpr_output_begin(&a->common.output, &doc);
    mpr_report_check(&doc, check);
    const int status = mpr_output_document(&a->common.output, &doc, incomplete);
    if (!written || status == MPR_EXIT_FAILURE) return MPR_EXIT_FAILURE;
    if (check->broken) return MPR_EXIT_BROKEN;
    return check->not_found && !incomplete ? MPR_EXIT_NOT_FOUND : status;
}

static int run_checks(struct args *a, struct mpr_check *check)
{
    struct mpr_diff diff;
    mpr_diff_init(&diff,
                  &(struct mpr_peaks_options){ .by = MPR_GROUP_AUTO, .at = MPR_INSTANT_PEAK });
    if (a->limited) mpr_logs_each(&a->common.logs, add, check);
    mpr_check_end(check);
    if (a->against) check_against(a, check, &diff);
    const bool incomplete = mpr_peaks_incomplete(&check->best) || mpr_peaks_incomplete(&diff.peaks),
               any = check->best.logs || diff.peaks.logs == 2;
    const int status = any ? report(a, check, incomplete) : MPR_EXIT_FAILURE;
    mpr_diff_free(&diff);
    return status;
}

int mpr_cmd_check(int argc, char **argv)
{
    struct args a = { .common = mpr_args_default(), .tolerance = 0.02, .headroom = 0.1 };
    struct mpr_check check;
    int status = MPR_EXIT_FAILURE;
    mpr_cmdline_parse(&cmdline, argc, argv, &a);
    mpr_check_init(&check, &a.common.output.naming, &a.budget);
    if (mpr_logs_choose(&a.common.logs))
        status = a.suggest ? suggest(&a, &check) : run_checks(&a, &check);
    mpr_check_free(&check);
    mpr_budget_free(&a.budget);
    return mpr_args_close(&a.common, status);
}
