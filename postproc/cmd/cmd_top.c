#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "cmd.h"
#include "logs.h"
#include "options.h"
#include "reports.h"
#include "screen.h"
#include "selection.h"
#include "top.h"

enum { INTERVAL_MS = 2000, LEAST_MS = 100, MOST_MS = 3600000, LOWER = 5 };

struct arguments {
    char **path; /* ended by NULL */
    unsigned long count;
    long interval_ms;
    struct mpr_live_options live;
    struct mpr_output output;
    struct mpr_logs logs;
};

static void set_count(void *arguments, char *arg, const char *name, struct argp_state *state)
{
    struct arguments *a = arguments;
    (void)name;
    char *end;
    errno = 0;
    a->count = strtoul(arg, &end, 10);
    if (errno || end == arg || *end || !a->count || *arg == '-')
        argp_error(state, "--count=%s: a number from 1 is wanted", arg);
}

static void set_interval(void *arguments, char *arg, const char *name, struct argp_state *state)
{
    struct arguments *a = arguments;
    const uint64_t ms = mpr_selection_length(arg, name, state) / 1000000;
    if (ms < LEAST_MS || ms > MOST_MS)
        argp_error(state, "--interval=%s: 100ms to an hour is wanted", arg);
    a->interval_ms = (long)ms;
}

static error_t take_word(void *arguments, int key, char *text, struct argp_state *state)
{
    struct arguments *a = arguments;
    (void)text;
    if (key != ARGP_KEY_ARGS) return ARGP_ERR_UNKNOWN;
    a->path = state->argv + state->next;
    return 0;
}

static const struct mpr_option options[] = {
    { "interval", 'i', "TIME", "Look each TIME, such as 500ms or 10s (default: 2s)",
      .set = set_interval },
    { "count", 'n', "N",
      "Look N times, one report below the other (default: in a terminal until q is pressed; elsewhere once)",
      .set = set_count },
    { "by", 0, MPR_BY_WORDS, "owners by " MPR_BY_HELP, MPR_TO_BY(struct arguments, live.by) },
    { "heap", 0, "NAME", "whose owners, for example host/heap (default: those of the largest heap)",
      MPR_TO_HEAP(struct arguments, live.heap) },
    { 0 },
};

static const struct mpr_takes takes = {
    .words = "LOG|DIR...",
    .need = MPR_NEED_LOG,
    .doc =
        "Shows what processes hold now, while they run: of each its memory and what it grew by in the last minute, of one its heaps, "
        "the account of its devices, who owns the largest heap, its steps, and the ranges that its threads are in."
        "\vIn a terminal: q ends, n shows the next process in full, any other key looks again now. Logs that come into a directory are "
        "taken in. A process that hangs shows what it held when it began to.\n\n"
        "Examples:\n"
        "  memprof-report top memprof.n03.4242.zst\n"
        "  memprof-report top --rank 3 logs/\n"
        "  memprof-report top --count 1 --format json logs/\n\n"
        "Exit status: 0 fine, 1 failure, 2 wrong usage.",
    .options = options,
    .which = &mpr_logs_which_argp,
    .logs = offsetof(struct arguments, logs),
    .output = offsetof(struct arguments, output),
    .word = take_word,
};

/* ---- looks */

/* Said at once, or when the screen is given back. */
static struct {
    bool any, on_screen;
    struct mpr_error newest;
} errors;

static void failed(const struct mpr_error *error)
{
    errors.any = true;
    errors.newest = *error;
    if (!errors.on_screen) mpr_cmd_error(error);
}

/* Those that came since, too.  False: there is nothing to look at. */
static bool find_logs(struct arguments *a, struct mpr_top *top, bool first)
{
    struct mpr_error error;
    bool good = true;
    mpr_paths_free(&a->logs.paths);
    a->logs.paths = (struct mpr_paths){ .waited_for = !first };
    for (char **path = a->path; *path; path++) good &= mpr_paths_add(&a->logs.paths, *path);
    if ((a->logs.pid || a->logs.rank) && !mpr_logs_choose(&a->logs)) return false;
    const bool alone = a->logs.paths.count == 1;
    for (size_t i = 0; i < a->logs.paths.count; i++) {
        if (mpr_top_add(top, a->logs.paths.at[i], alone, &error) == 0) continue;
        if (first) failed(&error);
        good = false;
    }
    if (first) a->logs.failed |= !good;
    return !first || top->logs;
}

static void look(struct arguments *a, struct mpr_top *top)
{
    const struct mpr_progress progress = mpr_bar();
    find_logs(a, top, false);
    mpr_top_look(top, &progress, failed);
    mpr_bar_clear();
}

static void describe(struct mpr_document *doc, const void *result) { mpr_report_top(doc, result); }

/* One report below the other. */
static int list(struct arguments *a, struct mpr_top *top)
{
    const struct timespec interval = { a->interval_ms / 1000, a->interval_ms % 1000 * 1000000 };
    if (mpr_output_open(&a->output) != 0) return MPR_EXIT_FAILURE;
    for (unsigned long i = 0; i < (a->count ? a->count : 1); i++) {
        if (i) nanosleep(&interval, NULL);
        look(a, top);
        char *text = mpr_output_text(&a->output, describe, top);
        fprintf(a->output.to.file, "%s%s", i && a->output.renderer == &mpr_render_text ? "\n" : "",
                text);
        free(text);
        if (mpr_destination_publish(&a->output.to) != 0) break;
    }
    return mpr_output_close(&a->output) == 0 ? MPR_EXIT_FINE : MPR_EXIT_FAILURE;
}

static void draw(struct arguments *a, struct mpr_top *top)
{
    if (a->output.width == MPR_WIDTH_AUTO) a->output.style.width = mpr_screen_width();
    char *text = mpr_output_text(&a->output, describe, top);
    mpr_screen_draw(text);
    free(text);
}

static int show(struct arguments *a, struct mpr_top *top)
{
    if (mpr_output_open(&a->output) != 0) return MPR_EXIT_FAILURE;
    look(a, top);
    mpr_screen_open();
    errors.on_screen = true;
    for (;;) {
        draw(a, top);
        const int key = mpr_screen_wait(a->interval_ms);
        if (key == 'q') break;
        top->next = key == 'n';
        look(a, top);
    }
    mpr_screen_close();
    if (errors.any) mpr_cmd_error(&errors.newest);
    return mpr_output_close(&a->output) == 0 ? MPR_EXIT_FINE : MPR_EXIT_FAILURE;
}

/* Where a person sits before it. */
static bool is_live(const struct arguments *a)
{
    return !a->count && !a->output.path && a->output.renderer == &mpr_render_text &&
           isatty(STDOUT_FILENO);
}

int mpr_cmd_top(int argc, char **argv)
{
    struct arguments a = { .interval_ms = INTERVAL_MS,
                           .live = { .by = MPR_GROUP_AUTO },
                           .output = mpr_output_default() };
    struct mpr_top top;
    int status = MPR_EXIT_FAILURE;
    a.output.has_stacks = true;
    mpr_takes_parse(&takes, argc, argv, &a, &a);
    mpr_top_init(&top, &a.live);
    setpriority(PRIO_PROCESS, 0, LOWER);
    if (find_logs(&a, &top, true)) status = is_live(&a) ? show(&a, &top) : list(&a, &top);
    a.logs.failed |= errors.any;
    mpr_top_free(&top);
    return mpr_logs_close(&a.logs, status);
}
