#include <string.h>

#include "budget.h"
#include "cmd.h"
#include "export_format.h"
#include "options.h"
#include "selection.h"

static const struct mpr_export_format *const formats[] = {
    &mpr_export_sqlite, &mpr_export_torch_snapshot, &mpr_export_pprof, &mpr_export_perfetto
};
enum { FORMATS = sizeof formats / sizeof *formats };

struct arguments {
    struct mpr_export of;
    const struct mpr_export_format *format;
};

static const struct mpr_export_format *find_format(const char *name, struct argp_state *state)
{
    for (size_t i = 0; i < FORMATS; i++)
        if (strcmp(formats[i]->name, name) == 0) return formats[i];
    argp_error(state, "%s%s%ssqlite, torch-snapshot, pprof or perfetto is wanted",
               *name ? "--to=" : "--to is needed", name, ": ");
    return NULL;
}

static void check(void *arguments, struct argp_state *state)
{
    struct arguments *a = arguments;
    struct mpr_export *e = &a->of;
    const struct mpr_export_format *f = a->format ? a->format : find_format("", state);
    if (!e->output) e->output = f->output;
    if (strcmp(e->output, "-") == 0 && !f->streams)
        argp_error(state, "--output=-: a database needs a file");
    const unsigned other = e->given & ~f->takes;
    if (other)
        argp_error(state, "--%s is not for --to=%s", other & MPR_EXPORT_MIN ? "min" : "heap",
                   f->name);
}

static void set_format(void *arguments, char *text, const char *name, struct argp_state *state)
{
    struct arguments *a = arguments;
    (void)name;
    a->format = find_format(text, state);
}

static void set_min(void *arguments, char *text, const char *name, struct argp_state *state)
{
    struct arguments *a = arguments;
    if (!mpr_budget_size(text, &a->of.min_bytes))
        argp_error(state, "--%s=%s: a size is wanted, such as 4096, 4KiB or 1MiB", name, text);
    a->of.given |= MPR_EXPORT_MIN;
}

static void set_heap(void *arguments, char *text, const char *name, struct argp_state *state)
{
    struct arguments *a = arguments;
    mpr_set_heap(&a->of.heap, text, name, state);
    a->of.given |= MPR_EXPORT_HEAP;
}

static const struct mpr_option options[] = {
    { "to", 0, "sqlite|torch-snapshot|pprof|perfetto",
      "a database of SQLite; a snapshot as PyTorch's allocator dumps it; a profile for pprof; a trace "
      "for Perfetto",
      .set = set_format },
    { "output", 'o', "FILE",
      "write there (memprof.sqlite, memprof.pickle, memprof.pb.gz, memprof.pftrace); what was there is replaced. -: standard output, "
      "but for a database",
      MPR_TO_TEXT(struct arguments, of.output) },
    { "min", 0, "SIZE",
      "list blocks of at least so many bytes, such as 4KiB; in a database the sums of the others stay "
      "in uses",
      .set = set_min },
    { "from", 0, "TIME", "list blocks, ranges and samples from then on: " MPR_INSTANTS,
      MPR_TO_INSTANT(struct arguments, of.from) },
    { "until", 0, "TIME", "up to then; step:12.end is that range's end",
      MPR_TO_INSTANT(struct arguments, of.until) },
    { "heap", 0, "NAME", "pprof and perfetto: only this heap", .set = set_heap },
    { 0 },
};

static const struct mpr_takes takes = {
    .doc =
        "Writes logs for other tools: as a database of SQLite, for questions that no report has (every block with its "
        "range, thread and call stack, every time that a range was open, every sample), one log as a snapshot of "
        "PyTorch's allocator, which PyTorch's memory_viz and tools for its snapshots open, logs as a profile of who "
        "made and who held memory, for pprof, or as a trace of heaps and ranges over time, for ui.perfetto.dev."
        "\vExamples:\n"
        "  memprof-report export --to sqlite -o run.sqlite memprof.n03.4242.zst\n"
        "  memprof-report export --to sqlite --min 64KiB -o ranks.sqlite logs/\n"
        "  sqlite3 run.sqlite 'SELECT path, sum(peak_bytes) FROM uses JOIN ranges USING (process_id, range_id) "
        "WHERE heap = \"gpu0/torch\" GROUP BY range_id ORDER BY 2 DESC LIMIT 10'\n"
        "  memprof-report export --to torch-snapshot --from step:7 --until step:7.end logs/\n"
        "  memprof-report export --to pprof -o run.pb.gz logs/; go tool pprof -http=: run.pb.gz\n"
        "  memprof-report export --to perfetto -o run.pftrace logs/\n\n"
        "Exit status: 0 fine, 1 failure, 2 wrong usage, 3 a log is incomplete.",
    .options = options,
    .which = &mpr_logs_argp,
    .logs = offsetof(struct arguments, of.logs),
    .no_output = true,
    .check = check,
};

/* Prints a message if the log ends before --from.  The other logs are exported anyway. */
static void warn_begin(const struct mpr_export *e, const char *path,
                       const struct mpr_progress *progress, uint64_t from_ns)
{
    struct mpr_error error;
    if (mpr_selection_check_begin(e->from, from_ns, path, progress, &error) == 0) return;
    mpr_bar_clear();
    mpr_cmd_error(&error);
}

int mpr_export_window(const struct mpr_export *e, const char *path,
                      const struct mpr_progress *progress, uint64_t *from_ns, uint64_t *until_ns,
                      struct mpr_error *error)
{
    if (mpr_selection_span(e->from, e->until, path, MPF_HEAP_NONE, progress, from_ns, until_ns,
                           error) != 0)
        return -1;
    if (*from_ns <= *until_ns) {
        warn_begin(e, path, progress, *from_ns);
        return 0;
    }
    return mpr_fail(error, "%s: --from=%s is behind --until=%s: nothing is between them", path,
                    e->from, e->until);
}

int mpr_cmd_export(int argc, char **argv)
{
    struct mpr_output output = mpr_output_default(); /* for what its sites tell */
    struct arguments a = { .of = { .telling = output.telling } };
    mpr_takes_parse(&takes, argc, argv, &a, &a);
    a.of.logs.heap = a.of.heap;
    return mpr_logs_close(&a.of.logs, a.format->write(&a.of));
}
