/* memprof-report: finds the subcommand that the arguments name, and runs it. */
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "alloc.h"
#include "cmd.h"
#include "import.h"
#include "nearest.h"
#include "progress.h"
#include "units.h"
#include "utf8.h"

/* argp in the C library looks for this name, so it must be visible. */
__attribute__((visibility("default"))) const char *argp_program_version =
    "memprof-report " MEMPROF_VERSION;

/* ---- the commands */

/* An entry without a function is a heading of --help. */
struct command {
    const char *name;
    mpr_run_command *run;
    const char *help;
};

static mpr_run_command run_log;

// clang-format off
static const struct command commands[] = {
    { "What happened", NULL, NULL },
    { "summary", mpr_cmd_summary, "an overview on one screen; this is the default command" },
    { "oom", mpr_cmd_oom, "each out-of-memory event: the request, the free bytes, the owners" },
    { "html", mpr_cmd_html, "one page about one or more runs" },
    { "Who holds memory", NULL, NULL },
    { "peaks", mpr_cmd_peaks, "owners of the memory at the peak, by range, call stack, thread, ..." },
    { "timeline", mpr_cmd_timeline, "each heap over time" },
    { "temporary", mpr_cmd_temporary, "the code that allocates short-lived blocks" },
    { "What grows", NULL, NULL },
    { "leaks", mpr_cmd_leaks, "live blocks at the end, and the sites that grow" },
    { "steps", mpr_cmd_steps, "the peak and the kept bytes of each step, and the outliers" },
    { "GPU", NULL, NULL },
    { "breakdown", mpr_cmd_breakdown, "PyTorch's memory by role: parameters, gradients, activations, ..." },
    { "segments", mpr_cmd_segments, "PyTorch's segments: live blocks, holes, blocks that pin free bytes" },
    { "graphs", mpr_cmd_graphs, "the memory cost of CUDA graphs" },
    { "what-if", mpr_cmd_what_if, "PyTorch's reserved memory with other allocator settings" },
    { "Compare", NULL, NULL },
    { "diff", mpr_cmd_diff, "the differences between two runs" },
    { "check", mpr_cmd_check, "checks that runs keep their memory limits, for CI" },
    { "Whole job", NULL, NULL },
    { "processes", mpr_cmd_processes, "the processes of a run, as a tree" },
    { "ranks", mpr_cmd_ranks, "the ranks of a job side by side, and the outliers among them" },
    { "Live", NULL, NULL },
    { "top", mpr_cmd_top, "the memory of running processes" },
    { "Log files", NULL, NULL },
    { "export", mpr_cmd_export, "writes logs for other tools: SQLite, memory_viz, pprof, Perfetto" },
    { "log", run_log, "log files: info, verify, recover, compact, symbolize, digest" },
    { 0 },
};

static const struct command log_commands[] = {
    { "Commands", NULL, NULL },
    { "info", mpr_cmd_info, "the header of a log, its events, threads, ranges and losses" },
    { "verify", mpr_cmd_verify, "checks every frame of each log" },
    { "recover", mpr_cmd_recover, "merges the journal of a dead process into its log" },
    { "compact", mpr_cmd_compact, "limits the size or the time of logs: thins older events" },
    { "symbolize", mpr_cmd_symbolize, "stores the names of a log's calls next to it" },
    { "digest", mpr_cmd_digest, "stores a summary of a log's reports next to it" },
    { 0 },
};

/* Names that commands had before, and names from other tools or for the same thing. */
static const struct { const char *name, *now; bool is_old; } other_names[] = {
    { "insights", "summary --all", true },
    { "stacks", "peaks --tree", true },
    { "threads", "peaks --by thread", true },
    { "info", "log info", true },
    { "verify", "log verify", true },
    { "recover", "log recover", true },
    { "compact", "log compact", true },
    { "symbolize", "log symbolize", true },
    { "digest", "log digest", true },
    { "findings", "summary --all", false },
    { "stats", "summary", false },
    { "report", "summary", false },
    { "flamegraph", "peaks --tree --folded", false },
    { "tree", "peaks --tree", false },
    { "table", "peaks", false },
    { "growth", "leaks", false },
    { "roles", "breakdown", false },
    { "compare", "diff", false },
    { "live", "top", false },
    { "page", "html", false },
    { "dump", "log info", false },
};
// clang-format on
enum { OTHER_NAMES = sizeof other_names / sizeof *other_names };

static const struct command *find(const struct command *list, const char *name)
{
    for (; list->name; list++)
        if (list->run && strcmp(list->name, name) == 0) return list;
    return NULL;
}

/* Returns the present name of a command that was renamed, or NULL. */
static const char *renamed(const char *name)
{
    for (size_t i = 0; i < OTHER_NAMES; i++)
        if (other_names[i].is_old && strcmp(other_names[i].name, name) == 0)
            return other_names[i].now;
    return NULL;
}

/* Returns the command that a name resembles, or NULL. */
static const char *suggestion(const char *name)
{
    struct mpr_nearest nearest = { .text = name };
    for (const struct command *c = commands; c->name; c++)
        if (c->run) mpr_nearest_try(&nearest, c->name);
    for (size_t i = 0; i < OTHER_NAMES; i++) mpr_nearest_try(&nearest, other_names[i].name);
    for (size_t i = 0; i < OTHER_NAMES; i++)
        if (nearest.word == other_names[i].name) return other_names[i].now;
    return nearest.word;
}

/* ---- the program's own options */

struct arguments {
    const struct command *list; /* the commands that may follow */
    int command;                /* its place in argv */
    uint64_t memory;
    bool summary; /* no command is needed */
    bool verbose;
};

/* Puts the list of commands below the first text of --help.  argp frees the result. */
static char *help(int key, const char *text, void *input)
{
    const struct arguments *a = input;
    char *help = NULL;
    size_t bytes;
    if (key != ARGP_KEY_HELP_PRE_DOC || !a) return (char *)text;
    FILE *out = mpr_text_open(&help, &bytes);
    fprintf(out, "%s\n", text);
    for (const struct command *list = a->list; list->name; list++)
        if (list->run) fprintf(out, "  %-10s%s\n", list->name, list->help);
        else fprintf(out, "%s:\n", list->name);
    mpr_text_close(out);
    return help;
}

static const struct argp_option options[] = {
    { "max-memory", 'm', "MIB", 0,
      "allocate at most this many MiB; 0 means no limit (default: half of the memory of the machine or "
      "container)",
      0 },
    { "verbose", 'v', NULL, 0, "print on standard error how often the log was read", 0 },
    { 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    static const char log_names[] = "info, verify, recover, compact, symbolize or digest";
    struct arguments *a = state->input;
    const bool log = a->list == log_commands;
    switch (key) {
    case 'm':
        if (!mpr_parse_number(arg, 0, UINT64_MAX >> 20, &a->memory))
            argp_error(state, "invalid --max-memory '%s': expected a number of MiB", arg);
        return 0;
    case 'v': a->verbose = true; return 0;
    case ARGP_KEY_NO_ARGS:
        if (log) argp_error(state, "expected a command: %s", log_names);
        if (!a->summary) argp_error(state, "expected a command, a log or a directory of logs");
        return 0;
    case ARGP_KEY_ARG:
        if (log && !find(log_commands, arg))
            argp_error(state, "'%s' is not a command of 'memprof-report log': expected %s", arg,
                       log_names);
        a->command = state->next - 1;
        state->next = state->argc;
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "COMMAND [OPTION...] LOG...\nLOG|DIR [OPTION...]",
    .doc =
        "Reports on the logs that memprof wrote.\n"
        "\vExamples:\n"
        "  memprof-report memprof.n03.4242.zst\n"
        "  memprof-report peaks memprof.n03.4242.zst\n"
        "  memprof-report peaks --by thread --top 5 logs/\n"
        "  memprof-report peaks --help\n\n"
        "Exit status: 0 fine, 1 failure, 2 wrong usage, 3 the log is incomplete (the report is still printed), "
        "4 a limit is exceeded, 5 a limit matches nothing (check).",
    .help_filter = help,
};

static int run_log(int argc, char **argv)
{
    static const struct argp log_argp = {
        .parser = parse,
        .args_doc = "COMMAND [OPTION...] LOG|DIR...",
        .doc = "Shows, checks and maintains log files and the files next to them.\n"
               "\vExamples:\n"
               "  memprof-report log info memprof.n03.4242.zst\n"
               "  memprof-report log recover logs/\n"
               "  memprof-report log digest --help",
        .help_filter = help,
    };
    static char program[] = "memprof-report log", name[32];
    struct arguments a = { .list = log_commands };
    argv[0] = program;
    argp_parse(&log_argp, argc, argv, ARGP_IN_ORDER, NULL, &a);
    const struct command *command = find(log_commands, argv[a.command]);
    snprintf(name, sizeof name, "log %s", command->name);
    argv[a.command] = name;
    return command->run(argc - a.command, argv + a.command);
}

/* Refuses unprintable characters in options, because argp prints unknown options unchanged.  A
 * shell may have made an option of a file's name, which can have any characters. */
static void check_options(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        uint32_t code;
        const char *at = argv[i];
        while (*argv[i] == '-' && *at)
            if (!mpr_utf8_next(&at, &code) || mpr_utf8_unsafe(code)) {
                mpr_cmd_say("unknown option '%s'; try 'memprof-report --help'", argv[i]);
                exit(MPR_EXIT_USAGE);
            }
    }
}

/* ---- the summary, whose name may be omitted */

/* Returns the index of the summary's first option in a command line such as "--width 80 LOG", or 0
 * if a command is named, or no file follows. */
static int summary_options_at(int argc, char **argv)
{
    static const char *const name[] = { "--max-memory", "--verbose", "--help", "--usage",
                                        "--version" };
    int at = 1;
    while (at < argc && argv[at][0] == '-') {
        /* An option may be shortened, and its value may be the next word: "-m 100", "--max-m 100".
         */
        const char *arg = argv[at];
        const size_t length = strcspn(arg, "=");
        bool own = arg[1] != '-' && strchr("mv?V", arg[1]);
        for (size_t i = 0; i < sizeof name / sizeof *name; i++)
            own |= length > 2 && strncmp(arg, name[i], length) == 0;
        if (!own) break;
        const bool alone =
            arg[1] == 'm' ? !arg[2] : strncmp(arg, "--m", 3) == 0 && !strchr(arg, '=');
        at += alone ? 2 : 1;
    }
    if (at >= argc || argv[at][0] != '-') return 0;
    for (int i = at + 1; i < argc && !find(commands, argv[i]) && !renamed(argv[i]); i++)
        if (access(argv[i], F_OK) == 0) return at;
    return 0;
}

/* @at: the first argument of the summary; the word before it is overwritten by the command's name
 */
static int run_summary(int argc, char **argv, int at)
{
    static char name[] = "summary";
    argv[at - 1] = name;
    return mpr_cmd_summary(argc - at + 1, argv + at - 1);
}

static int run(int argc, char **argv, int at)
{
    const char *name = argv[at], *now = renamed(name);
    const struct command *command = find(commands, name);
    if (command) return command->run(argc - at, argv + at);
    if (now) mpr_cmd_say("'%s' is now '%s'", name, now);
    else if (access(name, F_OK) == 0) return run_summary(argc, argv, at);
    else if ((now = suggestion(name)))
        mpr_cmd_say("'%s' is neither a command nor a file; did you mean '%s'?", name, now);
    else mpr_cmd_say("'%s' is neither a command nor a file; try 'memprof-report --help'", name);
    return MPR_EXIT_USAGE;
}

/* "read 7.9 M events twice in 0.42 s, 61 MB" */
static void say_readings(const struct timespec *began)
{
    const struct mpr_readings all = mpr_readings_so_far();
    struct mpr_number count;
    struct rusage used;
    struct timespec now;
    char what[64];
    clock_gettime(CLOCK_MONOTONIC, &now);
    getrusage(RUSAGE_SELF, &used);
    const char *events = mpr_units_count(&count, all.one_log ? all.longest : all.events);
    if (!all.readings) snprintf(what, sizeof what, "no events");
    else if (!all.one_log) snprintf(what, sizeof what, "%s events of several logs", events);
    else if (all.readings > 2)
        snprintf(what, sizeof what, "%s events %u times", events, (unsigned)all.readings);
    else snprintf(what, sizeof what, "%s events %s", events, all.readings == 1 ? "once" : "twice");
    fprintf(stderr, "read %s in %.2f s, %.0f MB\n", what,
            (double)(now.tv_sec - began->tv_sec) + (double)(now.tv_nsec - began->tv_nsec) / 1e9,
            (double)used.ru_maxrss * 1024 / 1e6);
}

int main(int argc, char **argv)
{
    struct timespec began;
    clock_gettime(CLOCK_MONOTONIC, &began);
    check_options(argc, argv);
    const int options_at = summary_options_at(argc, argv);
    struct arguments a = { .list = commands, .memory = MPR_MEMORY_DEFAULT, .summary = options_at };
    setlocale(LC_CTYPE, "");
    mpr_import_snapshots();
    argp_err_exit_status = MPR_EXIT_USAGE;
    argp_parse(&argp, options_at ? options_at : argc, argv, ARGP_IN_ORDER, NULL, &a);
    mpr_memory_limit(a.memory);
    const int status =
        options_at ? run_summary(argc, argv, options_at) : run(argc, argv, a.command);
    mpr_cmd_say_no_names();
    if (a.verbose) say_readings(&began);
    return status;
}
