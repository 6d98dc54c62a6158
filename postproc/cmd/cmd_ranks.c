#include <stdlib.h>

#include "alloc.h"
#include "cmd.h"
#include "digests.h"
#include "options.h"
#include "ranks.h"
#include "reports.h"
#include "tables.h"

struct arguments {
    const char *tables; /* NULL: not wanted */
    struct mpr_output output;
    const char **argument;
    size_t arguments, cap;
};

static error_t take_word(void *arguments, int key, char *text, struct argp_state *state)
{
    struct arguments *a = arguments;
    (void)state;
    if (key != ARGP_KEY_ARG) return ARGP_ERR_UNKNOWN;
    MPR_GROW(a->argument, a->arguments, a->cap);
    a->argument[a->arguments++] = text;
    return 0;
}

static const struct mpr_option options[] = {
    { "tables", 0, "DIR",
      "write the tables of all digests, too, as DIR/TABLE/rank=N/data.csv; DIR is new or empty",
      MPR_TO_TEXT(struct arguments, tables) },
    { 0 },
};

static const struct mpr_takes takes = {
    .words = "DIR|DIGEST|LOG...",
    .need = "a directory, digests or logs are needed",
    .doc =
        "Shows the ranks of a job side by side: who is missing, who failed first, how far their peaks lie apart, and what "
        "makes each of those differ that do, by stage, by node, by communicator and over time."
        "\vDigests are what memprof-report digest wrote; a log without one, or with an old one, is read itself, which takes "
        "longer.\n\n"
        "Examples:\n"
        "  memprof-report ranks logs/\n"
        "  memprof-report ranks --format json digests/*.digest\n"
        "  memprof-report ranks --tables=job17 digests/\n\n"
        "Exit status: 0 fine, 1 failure, 2 wrong usage, 3 a log is incomplete, or a rank is missing or there twice.",
    .options = options,
    .output = offsetof(struct arguments, output),
    .word = take_word,
};

static void describe(struct mpr_document *doc, const void *result)
{
    mpr_report_ranks(doc, result);
}

static int report(struct arguments *a, const struct mpr_digests *all)
{
    struct mpr_ranks ranks;
    struct mpr_error error;
    mpr_ranks_make(&ranks, all->at, all->count);
    if (all->made > 1)
        mpr_cmd_say("%zu of %zu digests were made just now: memprof-report digest keeps them",
                    all->made, all->count);
    int status = mpr_output_document(&a->output, describe, &ranks, ranks.incomplete);
    if (a->tables && mpr_tables_write(&ranks, a->tables, &error) != 0) {
        mpr_cmd_error(&error);
        status = MPR_EXIT_FAILURE;
    }
    mpr_ranks_free(&ranks);
    return status;
}

int mpr_cmd_ranks(int argc, char **argv)
{
    struct arguments a = { .output = mpr_output_default() };
    struct mpr_digests all = { 0 };
    int status = MPR_EXIT_FAILURE;
    mpr_takes_parse(&takes, argc, argv, &a, &a);
    mpr_digests_add(&all, a.argument, a.arguments, &a.output);
    if (all.count) status = report(&a, &all);
    if (all.failed) status = MPR_EXIT_FAILURE;
    mpr_digests_free(&all);
    free(a.argument);
    return status;
}
