#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "cmd.h"
#include "reports.h"
#include "top.h"

enum { INTERVAL_MS = 2000, MIN_MS = 100, MAX_MS = 3600000, NICENESS = 5 };

struct args {
    struct mpr_args common;
    uint64_t count; /* number of reports, or 0 */
    long interval_ms;
    struct mpr_live_options live;
};

static void set_interval(void *value, const struct mpr_given *given)
{
    struct args *a = value;
    const uint64_t ms = mpr_option_length(given) / 1000000;
    if (ms < MIN_MS || ms > MAX_MS) mpr_option_invalid(given, "a time from 100ms to 1h");
    a->interval_ms = (long)ms;
}

static const struct mpr_option options[] = {
    { "interval", 'i', "TIME", "update every TIME, such as 500ms or 10s (default: 2s)",
      .set = set_interval },
    { "count", 'n', "N",
      "print N reports, one below the other (default: one; in a terminal, redraw until q is pressed)",
      MPR_TO_NUMBER(struct args, count, 1, UINT64_MAX - 1) },
    { "by", 0, MPR_BY_WORDS, "group the owners by " MPR_BY_HELP, MPR_TO_BY(struct args, live.by) },
    { "heap", 0, "NAME",
      "show the owners of this heap, for example host/heap (default: the largest heap)",
      MPR_TO_HEAP(struct args, live.heap) },
    { 0 },
};

static const struct mpr_cmdline cmdline = {
    .operands = "LOG|DIR...",
    .need = MPR_NEED_LOG,
    .doc =
        "Shows the memory of running processes: the memory of each and its growth in the last minute. One process is shown in full: "
        "its heaps, the accounts of its devices, the owners of its largest heap, its steps, and the ranges that its threads are in."
        "\vIn a terminal, q quits, n shows the next process in full, and any other key updates at once. Logs that appear in a "
        "directory are added. If a process hangs, the ranges of its threads show the place.\n\n"
        "Examples:\n"
        "  memprof-report top memprof.n03.4242.zst\n"
        "  memprof-report top --rank 3 logs/\n"
        "  memprof-report top --count 1 --format json logs/",
    .exit = "0 fine, 1 failure, 2 wrong usage",
    .options = options,
    .takes = MPR_TAKES_PROCESSES,
    .has_stacks = true,
};

/* ---- readings */

/* While the screen is open, errors are stored, and the newest is printed when it is closed. */
static struct {
    bool any, on_screen;
    struct mpr_error newest;
} errors;

static void on_error(const struct mpr_error *error)
{
    errors.any = true;
    errors.newest = *error;
    if (!errors.on_screen) mpr_cmd_error(error);
}

/* Adds the logs that exist now.  Returns false if there are none. */
static bool find_logs(struct args *a, struct mpr_top *top, bool first)
{
    struct mpr_logs *logs = &a->common.logs;
    struct mpr_error error;
    bool good = true;
    mpr_paths_free(&logs->paths);
    logs->paths = (struct mpr_paths){ .may_be_missing = !first };
    for (size_t i = 0; i < a->common.operands; i++)
        good &= mpr_paths_add(&logs->paths, a->common.operand[i]);
    if ((logs->pid || logs->rank) && !mpr_logs_choose(logs)) return false;
    for (size_t i = 0; i < logs->paths.count; i++) {
        if (mpr_top_add(top, logs->paths.at[i], logs->paths.count == 1, &error) == 0) continue;
        if (first) on_error(&error);
        good = false;
    }
    if (first) logs->failed |= !good;
    return !first || top->logs;
}

static void read_logs(struct args *a, struct mpr_top *top)
{
    const struct mpr_progress progress = mpr_bar();
    find_logs(a, top, false);
    mpr_top_look(top, &progress, on_error);
    mpr_bar_clear();
}

/* Returns the report, which the caller frees. */
static char *describe(const struct args *a, const struct mpr_top *top)
{
    struct mpr_document doc;
    mpr_output_begin(&a->common.output, &doc);
    mpr_report_top(&doc, top);
    return mpr_output_text(&a->common.output, &doc);
}

/* ---- one report below the other */

static int list(struct args *a, struct mpr_top *top)
{
    const struct timespec interval = { a->interval_ms / 1000, a->interval_ms % 1000 * 1000000 };
    struct mpr_output *output = &a->common.output;
    if (mpr_output_open(output) != 0) return MPR_EXIT_FAILURE;
    for (uint64_t i = 0; i < (a->count ? a->count : 1); i++) {
        if (i) nanosleep(&interval, NULL);
        read_logs(a, top);
        char *text = describe(a, top);
        fprintf(output->to.file, "%s%s", i && output->renderer == &mpr_render_text ? "\n" : "",
                text);
        free(text);
        if (mpr_destination_publish(&output->to) != 0) break;
    }
    return mpr_output_close(output) == 0 ? MPR_EXIT_FINE : MPR_EXIT_FAILURE;
}

/* ---- the screen: a terminal that shows each report in the place of the previous one */

#define ENTER "\033[?1049h\033[?25l" /* the alternate screen, without a cursor */
#define LEAVE "\033[?25h\033[?1049l"
#define HOME  "\033[H"
#define CLEAR "\033[K" /* to the end of the line */
#define BELOW "\033[J" /* all lines below */

static struct {
    bool open, keys;
    struct termios before;
    sigset_t mask; /* of signals while it waits */
} screen;
static volatile sig_atomic_t ended;

static void on_end(int number) { ended = number; }
static void on_size(int number) { (void)number; }

static void screen_close(void)
{
    if (!screen.open) return;
    screen.open = false;
    if (screen.keys) tcsetattr(STDIN_FILENO, TCSANOW, &screen.before);
    fputs(LEAVE, stdout);
    fflush(stdout);
    sigprocmask(SIG_SETMASK, &screen.mask, NULL);
}

/* Signals arrive only while screen_wait waits. */
static void screen_open(void)
{
    const struct sigaction end = { .sa_handler = on_end }, size = { .sa_handler = on_size };
    static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGWINCH);
    sigaction(SIGWINCH, &size, NULL);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        sigaction(ends[i], &end, NULL);
        sigaddset(&blocked, ends[i]);
    }
    sigprocmask(SIG_BLOCK, &blocked, &screen.mask);
    screen.keys = tcgetattr(STDIN_FILENO, &screen.before) == 0;
    if (screen.keys) {
        struct termios raw = screen.before;
        raw.c_lflag &= (tcflag_t) ~(ICANON | ECHO);
        raw.c_cc[VMIN] = 1;
        raw.c_cc[VTIME] = 0;
        raw.c_cc[VSUSP] = _POSIX_VDISABLE; /* a stopped process would leave the terminal as it is */
        tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    }
    screen.open = true;
    atexit(screen_close);
    fputs(ENTER, stdout);
    fflush(stdout);
}

static struct winsize screen_size(void)
{
    struct winsize s = { 0 };
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &s) != 0 || !s.ws_col || !s.ws_row)
        return (struct winsize){ .ws_col = 80, .ws_row = 24 };
    return s;
}

/* Draws as many lines as the terminal has. */
static void screen_draw(const char *text)
{
    fputs(HOME, stdout);
    for (unsigned row = 0, rows = screen_size().ws_row; row < rows && *text; row++) {
        const size_t length = strcspn(text, "\n");
        printf("%s%.*s" CLEAR, row ? "\r\n" : "", (int)length, text);
        text += length + (text[length] == '\n');
    }
    fputs(BELOW, stdout);
    fflush(stdout);
}

/* Waits for a key.  Returns the key, 'q' after a signal that ends the process, or 0 after @ms or a
 * change of the terminal's size. */
static int screen_wait(long ms)
{
    struct pollfd keys = { .fd = screen.keys ? STDIN_FILENO : -1, .events = POLLIN };
    const struct timespec time = { ms / 1000, ms % 1000 * 1000000 };
    char key = 0;
    const int ready = ppoll(&keys, 1, &time, &screen.mask);
    if (ended) return 'q';
    if (ready <= 0) return 0;
    return read(STDIN_FILENO, &key, 1) == 1 ? key : 'q';
}

static int show(struct args *a, struct mpr_top *top)
{
    struct mpr_output *output = &a->common.output;
    if (mpr_output_open(output) != 0) return MPR_EXIT_FAILURE;
    read_logs(a, top);
    screen_open();
    errors.on_screen = true;
    for (;;) {
        if (output->width == MPR_WIDTH_AUTO) output->style.width = screen_size().ws_col;
        char *text = describe(a, top);
        screen_draw(text);
        free(text);
        const int key = screen_wait(a->interval_ms);
        if (key == 'q') break;
        top->next = key == 'n';
        read_logs(a, top);
    }
    screen_close();
    if (errors.any) mpr_cmd_error(&errors.newest);
    return mpr_output_close(output) == 0 ? MPR_EXIT_FINE : MPR_EXIT_FAILURE;
}

int mpr_cmd_top(int argc, char **argv)
{
    struct args a = { .common = mpr_args_default(),
                      .interval_ms = INTERVAL_MS,
                      .live = { .by = MPR_GROUP_AUTO } };
    const struct mpr_output *output = &a.common.output;
    int status = MPR_EXIT_FAILURE;
    mpr_cmdline_parse(&cmdline, argc, argv, &a);
    struct mpr_top top = { .options = a.live };
    const bool on_screen =
        !a.count && !output->path && output->renderer == &mpr_render_text && isatty(STDOUT_FILENO);
    setpriority(PRIO_PROCESS, 0, NICENESS);
    if (find_logs(&a, &top, true)) status = on_screen ? show(&a, &top) : list(&a, &top);
    a.common.logs.failed |= errors.any;
    mpr_top_free(&top);
    return mpr_args_close(&a.common, status);
}
