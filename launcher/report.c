#include "report.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tell.h"

enum { LOWEST = 19 };

/* Finds memprof-report relative to the folder of the executable. Returns 0, or -1 if it is not
 * there. */
static int find(char path[PATH_MAX])
{
    static const char *const places[] = { "memprof-report", "../postproc/memprof-report" };
    char self[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0) return -1;
    self[n] = 0;
    *strrchr(self, '/') = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (snprintf(path, PATH_MAX, "%s/%s", self, places[i]) < PATH_MAX &&
            access(path, X_OK) == 0)
            return 0;
    }
    return -1;
}

pid_t mpl_report_start(const char **argument, void (*prepare)(void), const char *without)
{
    char program[PATH_MAX];
    if (find(program) != 0) {
        mpl_say("cannot find memprof-report near this program: %s", without);
        return -1;
    }
    const pid_t pid = fork();
    if (pid == 0) {
        argument[0] = program;
        prepare();
        unsetenv("LD_PRELOAD");
        execv(program, (char *const *)argument);
        _exit(127);
    }
    if (pid < 0) mpl_say("cannot start memprof-report: %s", strerror(errno));
    return pid;
}

void mpl_report_wait(pid_t report)
{
    while (report > 0 && waitpid(report, NULL, 0) < 0 && errno == EINTR) {}
}

/* The command has ended, but other ranks on the node may still need the processors. */
static void give_way(void) { setpriority(PRIO_PROCESS, 0, LOWEST); }

/* This many paths are far below the limit of a program's arguments. */
enum { AT_ONCE = 64 };

static void start(const char *const command[3], const struct mpl_logs *logs, size_t from,
                  size_t count, const char *without)
{
    char path[AT_ONCE][PATH_MAX];
    const char *argument[AT_ONCE + 5] = { NULL, command[0], command[1], command[2] };
    size_t arguments = 4;
    for (size_t i = 0; i < count; i++) /* longer paths cannot be opened */
        if (snprintf(path[i], PATH_MAX, "%s/%s", logs->path, logs->log[from + i].name) < PATH_MAX)
            argument[arguments++] = path[i];
    mpl_report_wait(mpl_report_start(argument, give_way, without));
}

static void start_each(const char *const command[3], const struct mpl_logs *logs,
                       const char *without)
{
    for (size_t i = 0; i < logs->count; i += AT_ONCE)
        start(command, logs, i, logs->count - i < AT_ONCE ? logs->count - i : AT_ONCE, without);
}

void mpl_report_digest(const struct mpl_logs *logs)
{
    static const char *const command[3] = { "log", "digest", "--" };
    start_each(command, logs, "no digests were written");
}

void mpl_report_symbols(const struct mpl_logs *logs)
{
    static const char *const command[3] = { "log", "symbolize", "--quiet" };
    start_each(command, logs, "no names were stored");
}
