#include <string.h>

#include "budget.h"
#include "export_format.h"
#include "perfetto.h"
#include "pprof.h"
#include "profile.h"
#include "range_turns.h"
#include "timeline.h"

/* Prints a message if the log ends before --from.  The other logs are exported anyway. */
static void warn_begin(const struct mpr_export *e, const char *path,
                       const struct mpr_progress *progress, uint64_t from_ns)
{
    struct mpr_error error;
    if (mpr_instant_check_begin(e->from, from_ns, path, progress, &error) != 0)
        mpr_cmd_error(&error);
}

int mpr_export_window(const struct mpr_export *e, const char *path,
                      const struct mpr_progress *progress, uint64_t *from_ns, uint64_t *until_ns,
                      struct mpr_error *error)
{
    if (mpr_instant_span(e->from, e->until, path, MPF_HEAP_NONE, progress, from_ns, until_ns,
                         error) != 0)
        return -1;
    if (*from_ns > *until_ns)
        return mpr_fail(error, "%s: --from=%s is later than --until=%s", path, e->from, e->until);
    warn_begin(e, path, progress, *from_ns);
    return 0;
}

/* ---- pprof */

struct pprof {
    const struct mpr_export *export;
    struct mpr_pprof file;
    uint64_t processes;
    bool incomplete;
};

static int add_profile(void *to, const char *path, const struct mpr_progress *progress,
                       struct mpr_error *error)
{
    struct pprof *p = to;
    const struct mpr_export *e = p->export;
    struct mpr_profile_options wanted = { .heap = e->heap };
    struct mpr_profile profile;
    if (mpr_export_window(e, path, progress, &wanted.from_ns, &wanted.until_ns, error) != 0 ||
        mpr_instant_find(e->until, MPR_PEAK_TIME, path, e->heap, progress, &wanted.at, error) !=
            0 ||
        mpr_profile_read(&profile, path, &wanted, progress, error) != 0)
        return -1;
    mpr_pprof_add(&p->file, &profile);
    p->incomplete |= profile.summary.incomplete;
    p->processes++;
    mpr_profile_free(&profile);
    return 0;
}

static int export_pprof(struct mpr_export *e)
{
    struct pprof p = { .export = e };
    struct mpr_destination to;
    int status = MPR_EXIT_FAILURE;
    mpr_logs_choose(&e->common.logs);
    mpr_pprof_begin(&p.file);
    mpr_logs_each(&e->common.logs, add_profile, &p);
    if (p.processes && mpr_destination_open(&to, e->path) == 0) {
        mpr_pprof_end(&p.file, to.file);
        if (mpr_destination_close(&to, true) == 0)
            status = p.incomplete ? MPR_EXIT_INCOMPLETE : MPR_EXIT_FINE;
    }
    mpr_pprof_free(&p.file);
    return status;
}

static const struct mpr_export_format pprof = { .name = "pprof",
                                                .path = "memprof.pb.gz",
                                                .options = MPR_EXPORT_HEAP,
                                                .streams = true,
                                                .write = export_pprof };

/* ---- perfetto */

struct perfetto {
    const struct mpr_export *export;
    struct mpr_naming naming;
    struct mpr_perfetto file;
    uint64_t processes;
    bool incomplete;
};

static void put_turn(void *arg, const struct mpr_range_turn *turn) { mpr_perfetto_turn(arg, turn); }

static int add_trace(void *to, const char *path, const struct mpr_progress *progress,
                     struct mpr_error *error)
{
    struct perfetto *p = to;
    struct mpr_timeline timeline;
    struct mpr_timeline_options wanted = { .by = MPR_GROUP_ALL,
                                           .heap = p->export->heap,
                                           .buckets = MPR_EXPORT_SPANS,
                                           .bands = 1,
                                           .changes = SIZE_MAX,
                                           .exact = 1,
                                           .naming = &p->naming };
    if (mpr_export_window(p->export, path, progress, &wanted.from, &wanted.to, error) != 0 ||
        mpr_timeline_read(&timeline, path, &wanted, progress, error) != 0)
        return -1;
    mpr_perfetto_process(&p->file, &timeline);
    const struct mpr_range_turns_options turns = {
        .from_ns = wanted.from, .until_ns = wanted.to, .tell = put_turn, .arg = &p->file
    };
    const int status = mpr_range_turns_read(path, &turns, progress, error);
    p->incomplete |= timeline.summary.incomplete;
    p->processes += status == 0;
    mpr_timeline_free(&timeline);
    return status;
}

static int export_perfetto(struct mpr_export *e)
{
    struct perfetto p = { .export = e, .naming = { .user_frames = e->common.output.user_frames } };
    struct mpr_destination to;
    mpr_logs_choose(&e->common.logs);
    if (mpr_destination_open(&to, e->path) != 0) return MPR_EXIT_FAILURE;
    mpr_perfetto_begin(&p.file, to.file);
    mpr_logs_each(&e->common.logs, add_trace, &p);
    mpr_perfetto_free(&p.file);
    if (mpr_destination_close(&to, p.processes != 0) != 0 || !p.processes) return MPR_EXIT_FAILURE;
    return p.incomplete ? MPR_EXIT_INCOMPLETE : MPR_EXIT_FINE;
}

static const struct mpr_export_format perfetto = { .name = "perfetto",
                                                   .path = "memprof.pftrace",
                                                   .options = MPR_EXPORT_HEAP,
                                                   .streams = true,
                                                   .write = export_perfetto };

/* ---- the command */

static const struct mpr_export_format *const formats[] = { &mpr_export_sqlite,
                                                           &mpr_export_torch_snapshot, &pprof,
                                                           &perfetto };

static void set_format(void *value, const struct mpr_given *given)
{
    struct mpr_export *e = value;
    e->format = formats[mpr_option_word(given)];
}

static void set_min(void *value, const struct mpr_given *given)
{
    struct mpr_export *e = value;
    if (!mpr_budget_size(given->text, &e->min_bytes))
        mpr_option_invalid(given, "a size, such as 4096, 4KiB or 1MiB");
    e->given |= MPR_EXPORT_MIN;
}

static void set_heap(void *value, const struct mpr_given *given)
{
    struct mpr_export *e = value;
    mpr_set_heap(&e->heap, given);
    e->given |= MPR_EXPORT_HEAP;
}

static void check(void *args, struct argp_state *state)
{
    struct mpr_export *e = args;
    if (!e->format) argp_error(state, "expected --to=sqlite, torch-snapshot, pprof or perfetto");
    const struct mpr_export_format *f = e->format;
    if (!e->path) e->path = f->path;
    if (strcmp(e->path, "-") == 0 && !f->streams)
        argp_error(state, "--output=- is not available with --to=sqlite: a database needs a file");
    const unsigned other = e->given & ~f->options;
    if (other)
        argp_error(state, "--%s is not available with --to=%s",
                   other & MPR_EXPORT_MIN ? "min" : "heap", f->name);
}

static const struct mpr_option options[] = {
    { "to", 0, "sqlite|torch-snapshot|pprof|perfetto",
      "an SQLite database, a snapshot of PyTorch's allocator, a profile for pprof, or a trace for "
      "Perfetto",
      .set = set_format },
    { "output", 'o', "FILE",
      "write to FILE, and replace an existing file (default: memprof.sqlite, memprof.pickle, "
      "memprof.pb.gz or memprof.pftrace); - is standard output, except with sqlite",
      MPR_TO_TEXT(struct mpr_export, path) },
    { "min", 0, "SIZE",
      "omit blocks smaller than SIZE, such as 4KiB; the table uses of a database still includes them",
      .set = set_min },
    { "from", 0, "TIME", "only blocks, ranges and samples from TIME on: " MPR_INSTANTS,
      MPR_TO_INSTANT(struct mpr_export, from) },
    { "until", 0, "TIME", "only up to TIME; step:12.end is the end of that range",
      MPR_TO_INSTANT(struct mpr_export, until) },
    { "heap", 0, "NAME", "only this heap (pprof and perfetto)", .set = set_heap },
    { 0 },
};

static const struct mpr_cmdline cmdline = {
    .doc =
        "Writes logs for other tools: an SQLite database for questions that no report answers (every block with its range, "
        "thread and call stack, every instance of a range, every sample), a snapshot of PyTorch's allocator for memory_viz, a "
        "profile of allocated and live memory for pprof, or a trace of heaps and ranges over time for ui.perfetto.dev."
        "\vExamples:\n"
        "  memprof-report export --to sqlite -o run.sqlite memprof.n03.4242.zst\n"
        "  sqlite3 run.sqlite 'SELECT heap, peak_bytes, peak_ns FROM heaps'\n"
        "  memprof-report export --to sqlite --min 64KiB -o ranks.sqlite logs/\n"
        "  memprof-report export --to torch-snapshot --until step:7.end logs/\n"
        "  memprof-report export --to pprof -o run.pb.gz logs/\n"
        "  go tool pprof -http=: run.pb.gz\n"
        "  memprof-report export --to perfetto -o run.pftrace logs/",
    .options = options,
    .no_output = true,
    .check = check,
};

int mpr_cmd_export(int argc, char **argv)
{
    struct mpr_export e = { .common = mpr_args_default() };
    mpr_cmdline_parse(&cmdline, argc, argv, &e);
    e.common.logs.heap = e.heap;
    const int status = e.format->write(&e);
    return mpr_args_close(&e.common, status);
}
