#include "follow.h"

#include <errno.h>
#include <linux/ioprio.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
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

/* A log that was seen. */
struct followed {
    char *path;
    uint64_t size; /* when it was looked at last */
    uint64_t next; /* from which on a round may be worth it */
    bool done;     /* its process has ended, or its log is gone */
    struct mpr_error told;
};

struct following {
    struct followed *log;
    size_t logs, cap;
    const struct mpf_keep *keep;
    const char *run; /* thin only logs of the run with this id, or NULL for all logs */
    int process; /* a pidfd: until it has ended, logs are followed; -1: it has, or none was given */
    bool waits;  /* for the first log, because no process was given */
    bool failed;
};

static struct followed *known(struct following *f, const char *path)
{
    for (size_t i = 0; i < f->logs; i++)
        if (strcmp(f->log[i].path, path) == 0) return &f->log[i];
    MPR_GROW(f->log, f->logs, f->cap);
    f->log[f->logs] = (struct followed){ .path = mpr_text_copy(path) };
    return &f->log[f->logs++];
}

static void tell(struct following *f, struct followed *log, const struct mpr_error *error)
{
    f->failed = true;
    if (strcmp(error->text, log->told.text) != 0) mpr_cmd_error(error);
    log->told = *error;
}

/* Folded it has a new size, or none that matters. */
static void fold(struct following *f, struct followed *log)
{
    struct mpr_compaction done;
    struct mpr_recovery recovery;
    struct mpr_error error;
    if (mpr_compact(log->path, f->keep, f->run, &done, &error) != 0) {
        tell(f, log, &error);
        return;
    }
    if (done.outcome == MPR_COMPACT_OTHER) {
        log->done = true;
        return;
    }
    log->next = done.next;
    if (!done.ended || f->process >= 0) return;
    log->done = true;
    if (mpr_recover(log->path, false, &recovery, &error) != 0) tell(f, log, &error);
}

/* A log that does not grow may have ended. */
static void look(struct following *f, struct followed *log)
{
    struct stat st;
    if (stat(log->path, &st) != 0) log->done = true;
    if (log->done) return;
    const uint64_t size = (uint64_t)st.st_size;
    if (size == log->size || size >= log->next) fold(f, log);
    log->size = size;
}

/* A log that was removed is not found any more, and still has to be looked at. */
static void look_at_all(struct following *f, char *const *arguments)
{
    struct mpr_paths paths = { .waited_for = true };
    for (char *const *argument = arguments; *argument; argument++) mpr_paths_add(&paths, *argument);
    for (size_t i = 0; i < paths.count; i++) known(f, paths.at[i]);
    mpr_paths_free(&paths);
    for (size_t i = 0; i < f->logs; i++) look(f, &f->log[i]);
}

/* A pidfd shows the end of this very process, also if its number is used again. */
static bool has_ended(int process)
{
    struct pollfd end = { .fd = process, .events = POLLIN };
    return poll(&end, 1, 0) > 0;
}

static bool goes_on(struct following *f)
{
    if (f->process >= 0 && !has_ended(f->process)) return true;
    if (f->process >= 0) close(f->process);
    f->process = -1;
    for (size_t i = 0; i < f->logs; i++)
        if (!f->log[i].done) return true;
    return !f->logs && f->waits;
}

/* Whatever the machine is wanted for comes first. */
static void step_back(void)
{
    setpriority(PRIO_PROCESS, 0, 19);
    syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0));
}

int mpr_follow(char *const *arguments, const struct mpf_keep *keep, const char *run, pid_t process)
{
    const struct timespec second = { .tv_sec = 1 };
    struct following f = { .keep = keep, .run = run, .process = -1 };
    if (process) f.process = (int)syscall(SYS_pidfd_open, process, 0);
    f.waits = f.process < 0 && !(process && errno == ESRCH);
    sigset_t end;
    sigemptyset(&end);
    sigaddset(&end, SIGTERM);
    sigprocmask(SIG_BLOCK, &end, NULL);
    step_back();
    bool last;
    do {
        last = sigtimedwait(&end, NULL, &second) == SIGTERM;
        look_at_all(&f, arguments);
    } while (!last && goes_on(&f));
    for (size_t i = 0; i < f.logs; i++) free(f.log[i].path);
    free(f.log);
    return f.failed ? -1 : 0;
}
