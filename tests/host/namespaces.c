/* `namespaces`: allocates until memprof's encoder runs, and makes the calls that the kernel refuses
 * for a process with several threads. Then it allocates again, and does all of this once more in a
 * child. Prints the result of each call. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ranges.h"

enum { BLOCKS = 100000 };

static void work(void)
{
    range_push("work");
    for (int i = 0; i < BLOCKS; i++) free(malloc(100));
    range_pop();
}

static void say(const char *call, int result)
{
    printf("%s %d %d\n", call, result, result ? errno : 0);
}

static void call_each(void)
{
    const int fd = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
    work();
    say("unshare(CLONE_SIGHAND)", unshare(CLONE_SIGHAND));
    work();
    say("unshare(CLONE_NEWUSER)", unshare(CLONE_NEWUSER));
    work();
    say("setns(mnt)", setns(fd, CLONE_NEWNS));
    work();
    close(fd);
}

int main(void)
{
    ranges_init();
    free(malloc((size_t)4 << 20)); /* starts the encoder */
    call_each();
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        call_each();
        exit(0);
    }
    int status;
    return waitpid(child, &status, 0) != child || status;
}
