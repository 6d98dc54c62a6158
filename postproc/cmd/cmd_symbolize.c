#include <stdio.h>

#include "arena.h"
#include "cmd.h"
#include "logs.h"
#include "options.h"
#include "symbolize.h"
#include "units.h"
#include "utf8.h"

struct arguments {
    struct mpr_logs logs;
    bool quiet, incomplete;
};

static const struct mpr_option options[] = {
    { "quiet", 'q', NULL, "print nothing but errors", MPR_TO_FLAG(struct arguments, quiet) },
    { 0 },
};

static const struct mpr_takes takes = {
    .options = options,
    .which = &mpr_logs_argp,
    .logs = offsetof(struct arguments, logs),
    .no_output = true,
    .doc =
        "Stores beside each log, as LOG.symbols, the names of the calls in its native stacks: function, file, line and "
        "inlined calls. Reports take them from there where the program's files are not: on another machine, or when the "
        "container is gone."
        "\vRun it where the program ran; memprof run --symbols does. Copy LOG.symbols with LOG. Names that cannot be "
        "found any more, but are in the file already, stay in it.\n\n"
        "Example:\n"
        "  memprof-report symbolize logs/\n\n"
        "Exit status: 0 fine, 1 failure, 2 wrong usage, 3 a log is incomplete.",
};

static void tell(const char *log, const struct mpr_symbolized *s)
{
    struct mpr_number named, calls, objects, size;
    mpr_utf8_escaped(stdout, log);
    if (!s->calls) printf(": no native call stacks in it\n");
    else if (!s->bytes) printf(": no call has a name, and nothing is stored\n");
    else
        printf(".symbols: %s of %s calls, in %s object file%s; %s\n",
               mpr_units_count(&named, s->named), mpr_units_count(&calls, s->calls),
               mpr_units_count(&objects, s->objects), s->objects == 1 ? "" : "s",
               mpr_units_size(&size, s->bytes));
    for (size_t i = 0; i < s->notes; i++) {
        fputs("  ", stdout);
        mpr_utf8_escaped(stdout, s->note[i]);
        putchar('\n');
    }
    if (s->left_out)
        printf("  %s calls are left out, for the file has no room for them\n",
               mpr_units_count(&calls, s->left_out));
}

static int add(void *to, const char *log, const struct mpr_progress *progress,
               struct mpr_error *error)
{
    struct arguments *a = to;
    struct mpr_arena arena = { 0 };
    struct mpr_symbolized symbolized;
    const int status = mpr_symbolize(&symbolized, &arena, log, progress, error);
    mpr_bar_clear();
    a->incomplete |= symbolized.incomplete;
    if (status == 0 && !a->quiet) tell(log, &symbolized);
    mpr_arena_free(&arena);
    return status;
}

int mpr_cmd_symbolize(int argc, char **argv)
{
    struct arguments a = { 0 };
    mpr_takes_parse(&takes, argc, argv, &a, &a);
    mpr_logs_choose(&a.logs);
    mpr_logs_each(&a.logs, add, &a);
    if (fflush(stdout) != 0) a.logs.failed = true;
    return mpr_logs_close(&a.logs, a.incomplete ? MPR_EXIT_INCOMPLETE : MPR_EXIT_FINE);
}
