/* memprof-report: finds the subcommand. */
#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "utf8.h"

/* argp, in the C library, looks for it: it must not be hidden. */
__attribute__((visibility("default"))) const char *argp_program_version =
    "memprof-report " MEMPROF_VERSION;

typedef int run_command(int argc, char **argv);

// clang-format off
static const struct {
    const char *name;
    run_command *run;
} commands[] = {
    { "peaks", mpr_cmd_peaks },
    { "oom", mpr_cmd_oom },
    { "timeline", mpr_cmd_timeline },
    { "html", mpr_cmd_html },
    { "export", mpr_cmd_export },
    { "graphs", mpr_cmd_graphs },
    { "segments", mpr_cmd_segments },
    { "stacks", mpr_cmd_stacks },
    { "info", mpr_cmd_info },
    { "verify", mpr_cmd_verify },
    { "recover", mpr_cmd_recover },
    { "compact", mpr_cmd_compact },
    { "insights", mpr_cmd_insights },
    { "summary", mpr_cmd_summary },
    { "diff", mpr_cmd_diff },
    { "digest", mpr_cmd_digest },
    { "symbolize", mpr_cmd_symbolize },
    { "breakdown", mpr_cmd_breakdown },
    { "steps", mpr_cmd_steps },
    { "check", mpr_cmd_check },
    { "processes", mpr_cmd_processes },
    { "ranks", mpr_cmd_ranks },
    { "temporary", mpr_cmd_temporary },
    { "threads", mpr_cmd_threads },
    { "leaks", mpr_cmd_leaks },
    { "top", mpr_cmd_top },
};
// clang-format on

struct arguments {
    int command;
    uint64_t memory;
    bool summary; /* no command is needed */
};

static const struct argp_option options[] = {
    { "max-memory", 'm', "MIB", 0,
      "allocate at most so much; 0: no limit (default: half of the machine's memory, or of the container's)",
      0 },
    { 0 },
};

static void set_memory(struct arguments *a, const char *arg, struct argp_state *state)
{
    char *end;
    errno = 0;
    a->memory = strtoull(arg, &end, 10);
    if (errno || end == arg || *end || *arg == '-' || a->memory > UINT64_MAX >> 20)
        argp_error(state, "--max-memory=%s: a number of MiB is wanted", arg);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case 'm': set_memory(a, arg, state); return 0;
    case ARGP_KEY_NO_ARGS:
        if (!a->summary) argp_error(state, "a command is needed");
        return 0;
    case ARGP_KEY_ARG:
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
        "Reports on the logs that memprof wrote.\n\n"
        "Commands:\n"
        "  summary   what happened, on one screen: the same as no command\n"
        "  peaks     who held the memory at the peak, by range, call stack, thread, ...\n"
        "  oom       the story of each lack of memory\n"
        "  insights  what is worth a change, with the numbers that say so\n"
        "  timeline  each heap over time\n"
        "  html      a page of one or more runs, for a browser\n"
        "  diff      what two runs differ by\n"
        "  check     whether runs keep their limits: for CI\n"
        "  graphs    what CUDA graphs cost\n"
        "  segments  PyTorch's segments: what is live in them, holes, what pins them\n"
        "  breakdown PyTorch's memory by role: parameters, gradients, activations, ...\n"
        "  leaks     what lives at the end, and what grows with each step\n"
        "  steps     what each step, a range that repeats, took and kept\n"
        "  stacks    live bytes by call stack, as a tree or for a flame graph\n"
        "  temporary who makes blocks that are freed soon\n"
        "  threads   what each thread allocated, and when it lived\n"
        "  processes the processes of a run, as a tree\n"
        "  top       what processes hold now, while they run\n"
        "  ranks     the ranks of a job side by side: who differs, and by what\n"
        "  info      what a log holds\n"
        "  export    a log for other tools: SQLite, memory_viz, pprof, Perfetto\n"
        "  digest    what reports say of a log, as a small file beside it\n"
        "  symbolize the names of a log's call stacks, as a small file beside it\n"
        "  verify    checks every frame of each log\n"
        "  recover   folds the journal of a dead process into its log\n"
        "  compact   keeps logs within a size or a time: thins what is older\n"
        "\vExamples:\n"
        "  memprof-report memprof.n03.4242.zst\n"
        "  memprof-report peaks memprof.n03.4242.zst\n"
        "  memprof-report peaks --by thread --top 5 logs/\n"
        "  memprof-report peaks --help\n\n"
        "Exit status: 0 fine, 1 failure, 2 wrong usage, 3 the log is incomplete (the report is still printed), "
        "4 a limit is broken, 5 a limit is about nothing (check).",
};

/* argp repeats options that it does not know as they are; a name that a shell put there may be
 * anything. */
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

/* NULL: there is none. */
static run_command *command_named(const char *name)
{
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(commands[i].name, name) == 0) return commands[i].run;
    return NULL;
}

/* Of this program, or a beginning of its name that argp takes for it. */
static bool is_own(const char *arg)
{
    static const char *const name[] = { "--max-memory", "--help", "--usage", "--version" };
    const size_t length = strcspn(arg, "=");
    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        if (length > 2 && strncmp(arg, name[i], length) == 0) return true;
    return arg[1] != '-' && strchr("m?V", arg[1]);
}

/* "-m 100", "--max-memory 100" */
static bool takes_value(const char *arg)
{
    if (arg[1] == 'm') return !arg[2];
    return strncmp(arg, "--m", 3) == 0 && !strchr(arg, '=');
}

/* "--width 80 LOG": where the first options are a report's, and a log follows, the summary's name
 * is left out.  0: it is not so. */
static int summary_at(int argc, char **argv)
{
    int at = 1;
    while (at < argc && argv[at][0] == '-' && is_own(argv[at])) at += takes_value(argv[at]) ? 2 : 1;
    if (at >= argc || argv[at][0] != '-') return 0;
    for (int i = at + 1; i < argc && !command_named(argv[i]); i++)
        if (access(argv[i], F_OK) == 0) return at;
    return 0;
}

static int summary(int argc, char **argv, int at)
{
    static char name[] = "summary";
    argv[at - 1] = name;
    return mpr_cmd_summary(argc - at + 1, argv + at - 1);
}

static int run_at(int at, int argc, char **argv)
{
    run_command *const run = command_named(argv[at]);
    if (run) return run(argc - at, argv + at);
    if (access(argv[at], F_OK) == 0) return summary(argc, argv, at); /* a log, or a directory */
    mpr_cmd_say("'%s' is no command and no file; try 'memprof-report --help'", argv[at]);
    return MPR_EXIT_USAGE;
}

int main(int argc, char **argv)
{
    check_options(argc, argv);
    const int options_at = summary_at(argc, argv);
    struct arguments a = { .memory = MPR_MEMORY_DEFAULT, .summary = options_at };
    setlocale(LC_CTYPE, "");
    argp_err_exit_status = MPR_EXIT_USAGE;
    argp_parse(&argp, options_at ? options_at : argc, argv, ARGP_IN_ORDER, NULL, &a);
    mpr_memory_limit(a.memory);
    const int status = options_at ? summary(argc, argv, options_at) : run_at(a.command, argc, argv);
    mpr_cmd_say_no_names();
    return status;
}
