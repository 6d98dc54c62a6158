/* log compact: keeps logs within a size or a time, once or as long as their processes run. */
#include <errno.h>
#include <linux/ioprio.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "alloc.h"
#include "cmd.h"
#include "compact.h"
#include "recover.h"
#include "units.h"
#include "utf8.h"

struct args {
    struct mpr_args common;
    struct keeping {
        struct mpf_keep keep;
        bool given;
    } keeping;
    const char *run; /* only logs of the run with this id, or NULL for all logs */
    struct follow {
        bool on;
        pid_t process; /* as long as this process runs, or 0 */
    } follow;
};

static void set_keep(void *value, const struct mpr_given *given)
{
    struct keeping *k = value;
    k->given = mpf_keep_read(given->text, &k->keep);
    if (!k->given) mpr_option_invalid(given, MPF_EXPECTED_KEEP);
}

static void set_follow(void *value, const struct mpr_given *given)
{
    const char *text = given->text;
    struct follow *f = value;
    f->on = true;
    if (!text) return;
    const long pid = *text && !text[strspn(text, "0123456789")] ? strtol(text, NULL, 10) : 0;
    if (pid <= 0 || (pid_t)pid != pid) mpr_option_invalid(given, "the number of a process");
    f->process = (pid_t)pid;
}

static const struct mpr_option options[] = {
    { "keep", 0, "SIZE|TIME",
      "how much of each log to keep: a total size (2G), or a time for which the newest events are "
      "complete (30min) (default: MEMPROF_KEEP when the log was recorded)",
      MPR_TO(set_keep, struct keeping, struct args, keeping) },
    { "follow", 0, "PID",
      "continue at the lowest priority until the processes of the logs have ended; with PID, as long "
      "as that process runs",
      MPR_TO(set_follow, struct follow, struct args, follow), .optional = true },
    { "run", 0, "ID",
      "change only logs of the run ID that were recorded on this machine with MEMPROF_KEEP",
      MPR_TO_TEXT(struct args, run) },
    { 0 },
};

static const struct mpr_cmdline cmdline = {
    .options = options,
    .takes = MPR_TAKES_OPERANDS,
    .need = MPR_NEED_LOG,
    .no_output = true,
    .doc =
        "Limits the size or the time of logs, also while their processes run: the newest part stays complete, older events are "
        "thinned into LOG.fold, and their room is released."
        "\vWhen a process has ended, its log and LOG.fold become one file, as with memprof-report log recover. Until then, "
        "both files are needed.\n\n"
        "Example:\n  memprof-report log compact --keep 2G logs",
    .exit = "0 fine, 1 failure, 2 wrong usage",
};

/* ---- once */

static const struct mpf_keep *keep_of(const struct args *a)
{
    return a->keeping.given ? &a->keeping.keep : NULL;
}

static int compact(void *args, const char *path, const struct mpr_progress *progress,
                   struct mpr_error *error)
{
    const struct args *a = args;
    struct mpr_compaction done;
    struct mpr_recovery recovery;
    struct mpr_number before, after;
    (void)progress;
    if (mpr_compact(path, keep_of(a), a->run, &done, error) != 0 ||
        (done.ended && mpr_recover(path, false, &recovery, error) != 0))
        return -1;
    if (done.outcome == MPR_COMPACT_OTHER) return 0;
    mpr_utf8_write_escaped(stdout, path);
    if (done.outcome == MPR_COMPACT_LITTLE)
        puts(": not thinned, because its older part is too small");
    else if (done.outcome == MPR_COMPACT_READ)
        puts(": not thinned, because another process reads it");
    else
        printf(": %s thinned to %s\n", mpr_units_size(&before, done.before),
               mpr_units_size(&after, done.after));
    return 0;
}

/* ---- as long as the processes run */

struct followed_log {
    char *path;
    uint64_t size;          /* bytes, when it was examined last */
    uint64_t next;          /* size from which another round may be worth it */
    bool done;              /* its process has ended, or the log is gone */
    struct mpr_error error; /* the last one that was printed */
};

struct following {
    struct args *args;
    struct followed_log *log;
    size_t logs, cap;
    int process; /* pidfd of --follow=PID, or -1 without one and once it has ended */
    bool waits;  /* for a first log, because no process was given */
};

static void fail(struct following *f, struct followed_log *log, const struct mpr_error *error)
{
    f->args->common.logs.failed = true;
    if (strcmp(error->text, log->error.text) != 0) mpr_cmd_error(error);
    log->error = *error;
}

static void compact_followed(struct following *f, struct followed_log *log)
{
    struct mpr_compaction done;
    struct mpr_recovery recovery;
    struct mpr_error error;
    if (mpr_compact(log->path, keep_of(f->args), f->args->run, &done, &error) != 0) {
        fail(f, log, &error);
        return;
    }
    if (done.outcome == MPR_COMPACT_OTHER) {
        log->done = true;
        return;
    }
    log->next = done.next;
    if (!done.ended || f->process >= 0) return; /* the process that was given recovers its logs */
    log->done = true;
    if (mpr_recover(log->path, false, &recovery, &error) != 0) fail(f, log, &error);
}

/* Adds logs that are new, and does a round for each log that needs one. */
static void compact_all(struct following *f)
{
    struct mpr_paths paths = { .may_be_missing = true };
    for (size_t i = 0; i < f->args->common.operands; i++)
        mpr_paths_add(&paths, f->args->common.operand[i]);
    for (size_t i = 0; i < paths.count; i++) {
        size_t known = 0;
        while (known < f->logs && strcmp(f->log[known].path, paths.at[i]) != 0) known++;
        if (known < f->logs) continue;
        *MPR_ADD(f->log, f->logs, f->cap) =
            (struct followed_log){ .path = mpr_text_copy(paths.at[i]) };
    }
    mpr_paths_free(&paths);
    for (struct followed_log *log = f->log; log < f->log + f->logs; log++) {
        struct stat st;
        if (stat(log->path, &st) != 0) log->done = true;
        if (log->done) continue;
        const uint64_t size = (uint64_t)st.st_size;
        /* If a log does not grow, its process may have ended. */
        if (size == log->size || size >= log->next) compact_followed(f, log);
        log->size = size; /* not that after the round, which changes the file's size */
    }
}

static bool goes_on(struct following *f)
{
    /* A pidfd belongs to one process, even if the process's number is used again. */
    struct pollfd end = { .fd = f->process, .events = POLLIN };
    if (f->process >= 0 && poll(&end, 1, 0) <= 0) return true;
    if (f->process >= 0) close(f->process);
    f->process = -1;
    for (size_t i = 0; i < f->logs; i++)
        if (!f->log[i].done) return true;
    return !f->logs && f->waits;
}

/* Does a round once a second, at the lowest priority.  SIGTERM ends it after one more round. */
static void follow(struct args *a)
{
    const struct timespec second = { .tv_sec = 1 };
    const pid_t process = a->follow.process;
    struct following f = { .args = a, .process = -1 };
    bool last;
    if (process) f.process = (int)syscall(SYS_pidfd_open, process, 0);
    f.waits = f.process < 0 && !(process && errno == ESRCH);
    sigset_t end;
    sigemptyset(&end);
    sigaddset(&end, SIGTERM);
    sigprocmask(SIG_BLOCK, &end, NULL);
    setpriority(PRIO_PROCESS, 0, 19);
    syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0));
    do {
        last = sigtimedwait(&end, NULL, &second) == SIGTERM;
        compact_all(&f);
    } while (!last && goes_on(&f));
    for (size_t i = 0; i < f.logs; i++) free(f.log[i].path);
    free(f.log);
}

int mpr_cmd_compact(int argc, char **argv)
{
    struct args a = { 0 };
    struct mpr_logs *logs = &a.common.logs;
    mpr_cmdline_parse(&cmdline, argc, argv, &a);
    if (a.follow.on) follow(&a);
    else {
        for (size_t i = 0; i < a.common.operands; i++)
            logs->failed |= !mpr_paths_add(&logs->paths, a.common.operand[i]);
        mpr_logs_each(logs, compact, &a);
    }
    if (fflush(stdout) != 0) logs->failed = true;
    return mpr_args_close(&a.common, MPR_EXIT_FINE);
}
