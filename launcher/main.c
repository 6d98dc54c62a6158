/* memprof: runs the subcommand. */
#include <argp.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "attach.h"
#include "run.h"
#include "target.h"
#include "utf8.h"

/* argp, in the C library, looks this name up, so it must not be hidden. */
__attribute__((visibility("default"))) const char *argp_program_version =
    "memprof " MEMPROF_VERSION;

static error_t parse(int key, char *arg, struct argp_state *state)
{
    (void)arg;
    if (key == ARGP_KEY_NO_ARGS)
        argp_error(state, "expected a command: run, attach, detach, status or help");
    if (key != ARGP_KEY_ARG) return ARGP_ERR_UNKNOWN;
    *(int *)state->input = state->next - 1;
    state->next = state->argc;
    return 0;
}

static const struct argp argp = {
    .parser = parse,
    .args_doc = "run [OPTION...] -- COMMAND\nattach [OPTION...] PID\ndetach PID\nstatus\nhelp",
    .doc =
        "Records the memory of a program, by NVTX range."
        "\vExamples:\n"
        "  memprof run -- python3 train.py\n"
        "  memprof run --help\n"
        "  memprof attach --duration 1min 4242\n"
        "  memprof-report memprof.python3.4242\n\n"
        "Without this launcher: LD_PRELOAD=libmemprof.so COMMAND.  memprof(1) describes its variables.",
};

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = {
    { "run", mpl_run }, { "attach", mpl_attach }, { "detach", mpl_detach }, { "status", mpl_status }
};

int main(int argc, char **argv)
{
    int at = 0;
    setlocale(LC_CTYPE, "");
    argp_err_exit_status = MPL_STATUS_USAGE;
    argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &at);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(argv[at], commands[i].name) == 0) return commands[i].run(argc - at, argv + at);
    if (strcmp(argv[at], "help") != 0) {
        fputs("memprof: unknown command '", stderr);
        mpr_utf8_write_escaped(stderr, argv[at]);
        fputs(
            "'; expected run, attach, detach, status or help. To record a program: memprof run -- COMMAND\n",
            stderr);
        return MPL_STATUS_USAGE;
    }
    argp_help(&argp, stdout, ARGP_HELP_STD_HELP & ~ARGP_HELP_EXIT_OK, (char *)"memprof");
    return 0;
}
