/* memprof-report: finds the subcommand. */
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"

/* argp, in the C library, looks for it: it must not be hidden. */
__attribute__((visibility("default"))) const char *argp_program_version = "memprof-report " MEMPROF_VERSION;

static const struct { const char *name; int (*run)(int argc, char **argv); } commands[] = {
    { "peaks", mpr_cmd_peaks }, { "oom", mpr_cmd_oom }, { "timeline", mpr_cmd_timeline }, { "html", mpr_cmd_html }, { "graphs", mpr_cmd_graphs }, { "segments", mpr_cmd_segments }, { "stacks", mpr_cmd_stacks }, { "info", mpr_cmd_info }, { "verify", mpr_cmd_verify }, { "recover", mpr_cmd_recover },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    (void)arg;
    if (key == ARGP_KEY_NO_ARGS) argp_error(state, "a command is needed");
    if (key != ARGP_KEY_ARG) return ARGP_ERR_UNKNOWN;
    *(int *)state->input = state->next - 1;
    state->next = state->argc;
    return 0;
}

static const struct argp argp = {
    .parser = parse, .args_doc = "COMMAND [OPTION...] LOG...",
    .doc = "Reports on the logs that memprof wrote.\n\n"
           "Commands:\n"
           "  peaks     who held the memory at the peak, by range, call stack, library, thread, ...\n"
           "  oom       the story of each lack of memory\n"
           "  timeline  each heap over time\n"
           "  html      a page of one or more runs, for a browser\n"
           "  graphs    what CUDA graphs cost\n"
           "  segments  PyTorch's segments: what is live in them, their holes, what pins them\n"
           "  stacks    live bytes by call stack, as a tree or for a flame graph\n"
           "  info      what a log holds\n"
           "  verify    checks every frame of a log\n"
           "  recover   folds the journal of a dead process into its log\n"
           "\vExamples:\n"
           "  memprof-report peaks memprof.n03.4242.zst\n"
           "  memprof-report peaks --by thread --top 5 logs/\n"
           "  memprof-report peaks --help\n\n"
           "Exit status: 0 fine, 1 failure, 2 wrong usage, 3 the log is incomplete (the report is still printed).",
};

int main(int argc, char **argv)
{
    int at = 0;
    setlocale(LC_CTYPE, "");
    argp_err_exit_status = MPR_EXIT_USAGE;
    argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &at);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (strcmp(commands[i].name, argv[at]) == 0) return commands[i].run(argc - at, argv + at);
    }
    fprintf(stderr, "memprof-report: unknown command '%s'; try 'memprof-report --help'\n", argv[at]);
    return MPR_EXIT_USAGE;
}
