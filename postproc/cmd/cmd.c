#include "cmd.h"

#include <assert.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "alloc.h"
#include "basename.h"
#include "file.h"
#include "symbols.h"
#include "utf8.h"

/* ---- command lines */

enum { TABLES = 3, MAX_OPTIONS = 32, FIRST_KEY = 256 };

struct parsing {
    const struct mpr_cmdline *cmdline;
    struct mpr_args *args;
    size_t options;
    struct argp_option option[MAX_OPTIONS + TABLES + 1];
    const struct mpr_option *declared[MAX_OPTIONS + TABLES]; /* NULL for a heading */
    char *value[MAX_OPTIONS + TABLES];                       /* the member that it sets */
};

static void add_table(struct parsing *p, const struct mpr_option *option, void *values,
                      const char *heading, int group)
{
    if (!option) return;
    if (heading) p->option[p->options++] = (struct argp_option){ .doc = heading, .group = group };
    for (; option->name; option++) {
        const size_t i = p->options++;
        assert(i < MAX_OPTIONS + TABLES);
        p->declared[i] = option;
        p->value[i] = (char *)values + option->at;
        p->option[i] =
            (struct argp_option){ .name = option->name,
                                  .key = option->letter ? option->letter : FIRST_KEY + (int)i,
                                  .arg = option->argument,
                                  .flags = option->optional ? OPTION_ARG_OPTIONAL : 0,
                                  .doc = option->help,
                                  .group = group };
    }
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    const struct parsing *p = state->input;
    struct mpr_args *args = p->args;
    const bool logs = p->cmdline->takes == MPR_TAKES_LOGS || p->cmdline->takes == MPR_TAKES_PATHS;
    switch (key) {
    case ARGP_KEY_ARG:
        if (logs) {
            args->logs.failed |= !mpr_paths_add(&args->logs.paths, text);
            return 0;
        }
        MPR_REACH(args->operand, args->operands + 1, args->cap);
        args->operand[args->operands++] = text;
        args->operand[args->operands] = NULL;
        return 0;
    case ARGP_KEY_NO_ARGS:
        if (logs || p->cmdline->need)
            argp_error(state, "%s", logs ? MPR_NEED_LOG : p->cmdline->need);
        return 0;
    case ARGP_KEY_END:
        if (p->cmdline->check) p->cmdline->check(args, state);
        return 0;
    }
    for (size_t i = 0; i < p->options; i++)
        if (p->declared[i] && p->option[i].key == key) {
            p->declared[i]->set(p->value[i], &(struct mpr_given){ p->declared[i], text, state });
            return 0;
        }
    return ARGP_ERR_UNKNOWN;
}

void mpr_cmdline_parse(const struct mpr_cmdline *cmdline, int argc, char **argv, void *values)
{
    static char name[64]; /* "memprof-report peaks": argp takes the name in messages from argv[0] */
    struct mpr_args *args = values;
    struct parsing p = { .cmdline = cmdline, .args = args };
    args->output.has_stacks = cmdline->has_stacks;
    add_table(&p, cmdline->options, values, NULL, 1);
    const bool has_run = cmdline->takes == MPR_TAKES_LOGS;
    if (has_run || cmdline->takes == MPR_TAKES_PROCESSES)
        add_table(&p, mpr_logs_options + !has_run, &args->logs, "Which logs:", 2);
    if (!cmdline->no_output) add_table(&p, mpr_output_options, &args->output, "Output:", 3);
    char *doc = mpr_text_format(
        "%s\n\nExit status: %s.", cmdline->doc,
        cmdline->exit ? cmdline->exit : "0 fine, 1 failure, 2 wrong usage, 3 a log is incomplete");
    const struct argp argp = { .options = p.option,
                               .parser = parse,
                               .args_doc = cmdline->operands ? cmdline->operands : "LOG|DIR...",
                               .doc = doc };
    snprintf(name, sizeof name, "memprof-report %s", argv[0]);
    argv[0] = name;
    argp_parse(&argp, argc, argv, cmdline->in_order ? ARGP_IN_ORDER : 0, NULL, &p);
    free(doc);
}

int mpr_args_close(struct mpr_args *args, int status)
{
    free(args->operand);
    mpr_output_free(&args->output);
    return mpr_logs_close(&args->logs, status);
}

/* ---- reports on one log */

struct mpr_document *mpr_log_report_begin(struct mpr_log_report *report)
{
    mpr_bar_clear();
    mpr_output_begin(&report->args->output, &report->doc);
    return &report->doc;
}

void mpr_log_report_end(struct mpr_log_report *report, bool incomplete)
{
    report->status = mpr_output_document(&report->args->output, &report->doc, incomplete);
}

int mpr_log_report_run(struct mpr_args *args, uint8_t heap,
                       int (*make)(struct mpr_log_report *report))
{
    struct mpr_log_report report = { .args = args, .status = MPR_EXIT_FAILURE };
    args->logs.heap = heap;
    report.path = mpr_logs_one(&args->logs);
    report.progress = mpr_bar();
    if (report.path && make(&report) != 0) mpr_cmd_error(&report.error);
    return mpr_args_close(args, report.status);
}

/* ---- messages */

void mpr_cmd_say(const char *format, ...)
{
    char text[2 * PATH_MAX]; /* not allocated, because the message may be that memory ran out */
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    mpr_bar_clear();
    fputs("memprof-report: ", stderr);
    mpr_utf8_write_escaped(stderr, text);
    fputc('\n', stderr);
}

void mpr_cmd_error(const struct mpr_error *error) { mpr_cmd_say("%s", error->text); }

void mpr_cmd_say_no_names(void)
{
    if (mpr_symbols_not_installed())
        mpr_cmd_say(
            "native calls are shown without names, because libdw is not installed; install libdw1 (elfutils)");
    const char *why = mpr_symbols_not_fetched();
    if (!why) return;
    mpr_cmd_say(
        "a server of DEBUGINFOD_URLS failed: %s. The remaining debug files were not requested, so names "
        "may be missing. If no server can be reached, unset DEBUGINFOD_URLS; for a slow server, set "
        "DEBUGINFOD_TIMEOUT=60 DEBUGINFOD_MAXTIME=600",
        why);
}

/* ---- the progress bar */

enum { BAR_FIRST_MS = 1000, BAR_STEP_MS = 100, BAR_WIDTH = 40 };

static struct {
    uint64_t next_ms;
    bool shown;
} bar;

static uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void tick(void *arg, const char *path, uint64_t done, uint64_t total)
{
    static const char full[BAR_WIDTH + 1] = "########################################";
    const uint64_t now = now_ms();
    char name[33];
    (void)arg;
    if (now < bar.next_ms) return;
    bar.next_ms = now + BAR_STEP_MS;
    bar.shown = true;
    const int filled = total ? (int)(done * BAR_WIDTH / total) : BAR_WIDTH;
    snprintf(name, sizeof name, "%s", mpr_basename(path));
    fprintf(stderr, "\r[%.*s%*s] %3d %%  ", filled, full, BAR_WIDTH - filled, "",
            filled * 100 / BAR_WIDTH);
    mpr_utf8_write_escaped(stderr, name);
    fputs("\033[K", stderr);
}

struct mpr_progress mpr_bar(void)
{
    bar.next_ms = now_ms() + BAR_FIRST_MS;
    return (struct mpr_progress){ isatty(STDERR_FILENO) ? tick : NULL, NULL };
}

void mpr_bar_clear(void)
{
    if (bar.shown) fputs("\r\033[K", stderr);
    bar.shown = false;
}

/* ---- memory */

/* Returns the number in a file of the kernel, or UINT64_MAX without a file or for "max". */
static uint64_t number_in(const char *path)
{
    char text[32] = "", *end;
    FILE *file = fopen(path, "re");
    if (!file) return UINT64_MAX;
    const bool read = fgets(text, sizeof text, file) != NULL;
    fclose(file);
    const uint64_t number = strtoull(text, &end, 10);
    return read && end != text ? number : UINT64_MAX;
}

/* Ends the process and discards the buffers of files, which have an incomplete report. */
static void end_without_memory(void)
{
    struct mpr_error error;
    if (mpr_alloc_path()) {
        mpr_fail_memory(&error, mpr_alloc_path());
        mpr_cmd_error(&error);
    } else
        mpr_cmd_say(
            "this report needs more memory than the limit; raise the limit with memprof-report "
            "--max-memory=MIB");
    mpr_atomic_abandon();
    _exit(MPR_EXIT_FAILURE);
}

/* A log of some kilobytes can describe more live blocks than any machine has memory for.  The limit
 * applies to allocated memory, not to the mapped log. */
void mpr_memory_limit(uint64_t mib)
{
    struct rlimit limit;
    uint64_t bytes = mib << 20;
    if (mib == MPR_MEMORY_DEFAULT) {
        const uint64_t machine =
                           (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE),
                       v2 = number_in("/sys/fs/cgroup/memory.max"),
                       v1 = number_in("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
                       container = v1 < v2 ? v1 : v2;
        bytes = (container < machine ? container : machine) / 2;
    }
    mpr_alloc_on_failure(end_without_memory);
    if (!bytes || getrlimit(RLIMIT_DATA, &limit) != 0 || limit.rlim_cur <= bytes) return;
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_DATA, &limit);
}
