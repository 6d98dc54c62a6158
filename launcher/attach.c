#include "attach.h"

#include <argp.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attachable.h"
#include "injection.h"
#include "library.h"
#include "logs.h"
#include "mpf/keep.h"
#include "proc.h"
#include "run_id.h"
#include "settings.h"
#include "target.h"
#include "tell.h"
#include "utf8.h"

/* ---- options */

struct options {
    const char *directory;
    struct mpl_settings settings;
    char run_id[MPF_RUN_ID];
    uint64_t duration_ns; /* 0: until memprof detach */
    bool quiet, children;
    pid_t pid;
};

enum { OPT_DURATION = 256, OPT_CHILDREN };

static const struct argp_option argp_options[] = {
    { "output", 'o', "DIR", 0,
      "Directory for the log, created if it does not exist (default: memprof.PROGRAM.PID)", 0 },
    { "duration", OPT_DURATION, "TIME", 0,
      "Detach after this time (90s, 10min, 2h) or at Ctrl-C, and list the log. Without it, memprof "
      "returns at once, and memprof detach ends the recording",
      0 },
    { "children", OPT_CHILDREN, NULL, 0,
      "Also record the processes that it forks from now on, until they execute another program",
      0 },
    { "quiet", 'q', NULL, 0, "Print only errors", 0 },
    { 0 },
};

static bool read_pid(const char *text, pid_t *pid)
{
    char *end;
    errno = 0;
    const long n = strtol(text, &end, 10);
    *pid = (pid_t)n;
    return !errno && *text >= '0' && *text <= '9' && !*end && n > 0 && n <= INT_MAX;
}

static error_t parse_pid(const char *arg, struct argp_state *state, pid_t *pid)
{
    if (*pid) argp_error(state, "expected one process ID");
    if (!read_pid(arg, pid)) argp_error(state, "invalid process ID '%s': expected a number", arg);
    return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;
    struct mpf_keep time;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->settings; return 0;
    case 'o': o->directory = arg; return 0;
    case 'q': o->quiet = true; return 0;
    case OPT_CHILDREN: o->children = true; return 0;
    case OPT_DURATION:
        if (!mpf_keep_read(arg, &time) || !time.ns)
            argp_error(state,
                       "invalid --duration '%s': expected a time (30min; units s, min, h or d)",
                       arg);
        o->duration_ns = time.ns;
        return 0;
    case ARGP_KEY_ARG: return parse_pid(arg, state, &o->pid);
    case ARGP_KEY_NO_ARGS: argp_error(state, "expected a process ID"); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = { { &mpl_settings_argp, 0, NULL, 0 }, { 0 } };
static const struct argp argp = {
    .options = argp_options,
    .parser = parse,
    .children = children,
    .args_doc = "PID",
    .doc =
        "Records the memory of a running process from now on. Its host memory is recorded; memory of GPUs is not. Experimental: "
        "docs/attach.md says when it can harm the process."
        "\vExamples:\n"
        "  memprof attach --duration 1min 4242\n"
        "  memprof attach -o logs --host=sample 4242\n"
        "  memprof detach 4242\n\n"
        "The options are those of memprof run. --keep, --program, --min-rss, --torch-ranges and --cuda have no effect. "
        "If the process cannot be attached to, it is left as it was. Exit status: 0, 1 if the process cannot be "
        "attached to or memprof fails, 2 for wrong usage.",
};

/* ---- the log's directory */

/* The process writes the log, so it must see the same directory and be allowed to write there. */
static bool open_logs(struct mpl_logs *logs, const struct options *o)
{
    char name[NAME_MAX + 1] = "process", reason[PATH_MAX + 256];
    uid_t user;
    gid_t group;
    mpl_proc_name(o->pid, name, sizeof name);
    if (mpl_logs_open(logs, o->directory, name, o->pid, reason, sizeof reason) != 0) {
        mpl_say("%s", reason);
        return false;
    }
    logs->run = o->run_id;
    if (!mpl_attachable_sees(o->pid, logs->path)) {
        mpl_say(
            "process %ld does not see the directory %s (another root or mount namespace); choose one that "
            "both see with -o DIR",
            (long)o->pid, logs->path);
        return false;
    }
    if (logs->made && geteuid() == 0 && mpl_attachable_owner(o->pid, &user, &group) && user != 0 &&
        fchown(logs->dir, user, group) != 0)
        mpl_say("%s: %s", logs->path, strerror(errno));
    return true;
}

/* Adds "NAME=value" and a 0. */
static void add_setting(FILE *to, const char *name, const char *value)
{
    fprintf(to, "%s=%s", name, value);
    fputc(0, to);
}

static bool settings_of(const struct options *o, const struct mpl_logs *logs, char **text,
                        size_t *bytes)
{
    struct mpl_variable variables[MPL_SETTINGS];
    char *template = mpl_logs_template(logs);
    FILE *to = template ? open_memstream(text, bytes) : NULL;
    if (!to) {
        free(template);
        return false;
    }
    const size_t count = mpl_settings_variables(&o->settings, variables);
    for (size_t i = 0; i < count; i++)
        if (strcmp(variables[i].name, "MEMPROF_KEEP") != 0 &&
            strcmp(variables[i].name, "MEMPROF_PROGRAM") != 0)
            add_setting(to, variables[i].name, variables[i].value);
    add_setting(to, "MEMPROF_OUT", template);
    add_setting(to, "MEMPROF_RUN", o->run_id);
    add_setting(to, "MEMPROF_SUMMARY", "0");
    free(template);
    return fclose(to) == 0;
}

/* ---- attach */

static bool say_failure(const struct mpl_injection *i, const char *what, pid_t pid)
{
    mpl_say("cannot %s process %ld: %s", what, (long)pid, i->reason);
    return false;
}

static bool check_unrecorded(struct mpl_injection *i, pid_t pid)
{
    const enum mpf_attach_state state = i->status.state;
    if (state != MPF_ATTACH_ON && state != MPF_ATTACH_PRELOADED) return true;
    mpl_say("process %ld is recorded already: %s", (long)pid, i->status.log);
    return false;
}

static bool begin_recording(struct mpl_injection *i, const struct options *o,
                            const struct mpl_logs *logs, const char *library)
{
    char *settings = NULL;
    size_t bytes = 0;
    if (!mpl_attachable_sees(o->pid, library) && !i->process.memprof) {
        mpl_say(
            "process %ld does not see %s (another root or mount namespace); copy it there and set "
            "MEMPROF_LIB",
            (long)o->pid, library);
        return false;
    }
    if (!settings_of(o, logs, &settings, &bytes)) {
        mpl_say("%s", strerror(ENOMEM));
        return false;
    }
    const bool ok =
        (mpl_injection_load(i, library) && mpl_injection_attach(i, settings, bytes, o->children)) ||
        say_failure(i, "attach to", o->pid);
    free(settings);
    return ok;
}

static bool uses_cuda(pid_t pid) { return mpl_proc_maps(pid, "libcuda.so") == 1; }

/* The process wrote them, so they may have control characters. */
static void tell_messages(const char *messages)
{
    char *copy = strdup(messages), *rest = copy;
    for (char *line; (line = strsep(&rest, "\n"));)
        if (*line) {
            mpr_utf8_write_escaped(stderr, line);
            fputc('\n', stderr);
        }
    free(copy);
}

static void tell_attached(const struct mpl_injection *i, const struct options *o)
{
    mpl_say("recording process %ld into %s; a thread was stopped for at most %lu.%02lu ms",
            (long)o->pid, i->status.log, i->longest_us / 1000, i->longest_us / 10 % 100);
    tell_messages(i->status.message);
    if (uses_cuda(o->pid))
        mpl_say(
            "process %ld uses CUDA: its GPU memory is not recorded, because memprof was attached",
            (long)o->pid);
    if (!o->duration_ns) mpl_say("end it with: memprof detach %ld", (long)o->pid);
}

/* Waits for the end of the process, of the time, or for a signal. Returns true if the process
 * lives. */
static bool wait_for_end(const struct options *o)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    struct pollfd fd[] = { { .fd = (int)syscall(SYS_pidfd_open, o->pid, 0), .events = POLLIN },
                           { .fd = signalfd(-1, &signals, SFD_CLOEXEC), .events = POLLIN } };
    const struct timespec time = { (time_t)(o->duration_ns / 1000000000),
                                   (long)(o->duration_ns % 1000000000) };
    ppoll(fd, 2, &time, NULL);
    const bool lives = fd[0].fd < 0 ? kill(o->pid, 0) == 0 : !fd[0].revents;
    if (fd[0].fd >= 0) close(fd[0].fd);
    if (fd[1].fd >= 0) close(fd[1].fd);
    return lives;
}

static bool end_recording(struct mpl_injection *i, pid_t pid)
{
    if (!mpl_injection_read(i) || i->status.state != MPF_ATTACH_ON) return true; /* it has ended */
    return mpl_injection_detach(i) || say_failure(i, "detach from", pid);
}

static bool record(struct mpl_injection *i, const struct options *o, const char *library)
{
    struct mpl_logs logs;
    if (!open_logs(&logs, o)) return false;
    bool ok = begin_recording(i, o, &logs, library);
    if (ok && !o->quiet) tell_attached(i, o);
    if (ok && o->duration_ns) {
        if (wait_for_end(o)) ok = end_recording(i, o->pid);
        mpl_logs_survey(&logs, true);
        if (!o->quiet)
            mpl_tell_logs(&logs, o->directory ? o->directory : mpl_target_name(logs.path), true);
    } else if (ok) logs.made = false; /* it stays, although it may have no log yet */
    mpl_logs_close(&logs);
    return ok;
}

int mpl_attach(int argc, char **argv)
{
    struct options o = { 0 };
    struct mpl_injection injection;
    char library[PATH_MAX], reason[PATH_MAX + 256];
    argv[0] = (char *)"memprof attach";
    if (argp_parse(&argp, argc, argv, 0, NULL, &o) != 0) return MPL_STATUS_FAILURE;
    mpl_run_id(o.run_id, mpl_settings_run(&o.settings));
    if (mpl_library_find(library, reason, sizeof reason) != 0) {
        mpl_say("%s", reason);
        return MPL_STATUS_FAILURE;
    }
    if (!mpl_attachable(o.pid, reason, sizeof reason)) {
        mpl_say("cannot attach to process %ld: %s", (long)o.pid, reason);
        return MPL_STATUS_FAILURE;
    }
    const bool ok =
        (mpl_injection_open(&injection, o.pid) || say_failure(&injection, "attach to", o.pid)) &&
        check_unrecorded(&injection, o.pid) && record(&injection, &o, library);
    mpl_injection_close(&injection);
    return ok ? 0 : MPL_STATUS_FAILURE;
}

/* ---- detach */

static error_t parse_detach(int key, char *arg, struct argp_state *state)
{
    switch (key) {
    case ARGP_KEY_ARG: return parse_pid(arg, state, state->input);
    case ARGP_KEY_NO_ARGS: argp_error(state, "expected a process ID"); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp detach_argp = {
    .parser = parse_detach,
    .args_doc = "PID",
    .doc =
        "Ends the recording of a process that memprof attach began. The process continues."
        "\vExit status: 0, 1 if the process is not recorded or cannot be traced, 2 for wrong usage.",
};

static bool check_attached(const struct mpl_injection *i, pid_t pid)
{
    const enum mpf_attach_state state = i->status.state;
    if (state == MPF_ATTACH_ON) return true;
    if (state == MPF_ATTACH_PRELOADED)
        mpl_say("process %ld was started with memprof, so it is recorded until it ends: %s",
                (long)pid, i->status.log);
    else mpl_say("process %ld is not recorded", (long)pid);
    return false;
}

int mpl_detach(int argc, char **argv)
{
    struct mpl_injection i;
    pid_t pid = 0;
    argv[0] = (char *)"memprof detach";
    if (argp_parse(&detach_argp, argc, argv, 0, NULL, &pid) != 0) return MPL_STATUS_FAILURE;
    const bool ok = (mpl_injection_open(&i, pid) || say_failure(&i, "detach from", pid)) &&
                    check_attached(&i, pid) &&
                    (mpl_injection_detach(&i) || say_failure(&i, "detach from", pid));
    if (ok) mpl_say("detached from process %ld; next: memprof-report %s", (long)pid, i.status.log);
    mpl_injection_close(&i);
    return ok ? 0 : MPL_STATUS_FAILURE;
}

/* ---- status */

static void tell_process(pid_t pid)
{
    static const char *const words[] = { [MPF_ATTACH_PRELOADED] = "started with memprof",
                                         [MPF_ATTACH_ON] = "attached",
                                         [MPF_ATTACH_LEFT] = "detached" };
    struct mpl_injection i;
    char name[NAME_MAX + 1] = "?";
    if (mpl_proc_maps(pid, "libmemprof.so") != 1 || !mpl_injection_open(&i, pid)) return;
    const unsigned state = i.status.state;
    mpl_proc_name(pid, name, sizeof name);
    if (state < sizeof words / sizeof *words && words[state]) {
        printf("%ld  ", (long)pid);
        mpr_utf8_write_escaped(stdout, name);
        printf("  %s  ", words[state]);
        mpr_utf8_write_escaped(stdout, i.status.log);
        putchar('\n');
    }
    mpl_injection_close(&i);
}

static const struct argp status_argp = {
    .doc =
        "Lists the processes that memprof records or has recorded: ID, program, how, log. Only processes "
        "that this user may trace are listed.",
};

int mpl_status(int argc, char **argv)
{
    argv[0] = (char *)"memprof status";
    if (argp_parse(&status_argp, argc, argv, 0, NULL, NULL) != 0) return MPL_STATUS_FAILURE;
    DIR *d = opendir("/proc");
    const struct dirent *entry;
    pid_t pid;
    while (d && (entry = readdir(d)))
        if (read_pid(entry->d_name, &pid)) tell_process(pid);
    if (d) closedir(d);
    return 0;
}
