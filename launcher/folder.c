#include "folder.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tell.h"

/* From the folder of the executable: installed in a prefix, or in the build tree. */
static int find_program(char path[PATH_MAX])
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

/* ^C in the terminal is for the command, so it is in a group of its own. */
static void run(char *program, char *directory, const char *keep, pid_t launcher)
{
    char option[64], follow[64];
    snprintf(option, sizeof option, "--keep=%s", keep);
    snprintf(follow, sizeof follow, "--follow=%ld", (long)launcher);
    char *const argv[] = { program, (char *)"compact", option, follow, directory, NULL };
    setpgid(0, 0);
    unsetenv("LD_PRELOAD");
    execv(program, argv);
    _exit(127);
}

pid_t mpl_folder_start(const char *directory, const char *keep)
{
    char program[PATH_MAX], path[PATH_MAX];
    const pid_t launcher = getpid();
    if (find_program(program) != 0) {
        mpl_say(
            "memprof-report is not beside this program: the logs grow beyond what is to be kept");
        return -1;
    }
    snprintf(path, sizeof path, "%s", directory);
    const pid_t pid = fork();
    if (pid == 0) run(program, path, keep, launcher);
    if (pid < 0) mpl_say("memprof-report cannot be started: %s", strerror(errno));
    return pid;
}

void mpl_folder_end(pid_t folder)
{
    if (folder <= 0) return;
    kill(folder, SIGTERM);
    while (waitpid(folder, NULL, 0) < 0 && errno == EINTR) {}
}
