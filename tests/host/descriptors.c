/* `descriptors HOW [FILE]`: changes its descriptors while memprof's encoder runs, and allocates
 * 100,000 blocks of 100 bytes in the range "work".
 *
 * list: prints the open descriptors.
 * closefrom: closes all descriptors from 3 on, then writes FILE.
 * close0: closes descriptor 0, so that FILE gets this number.
 * daemonise: closes all descriptors in a child with its own session, and writes FILE there.
 * eof: closes stdout, then waits for the end of its stdin.
 * forbid: once the encoder has its own descriptors, the program forbids itself further ones and
 * allocates as many blocks again on four threads. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ranges.h"

enum { BLOCKS = 100000, LINES = 100 };

static void work(void)
{
    range_push("work");
    for (int i = 0; i < BLOCKS; i++) free(malloc(100));
    range_pop();
}

static void list(void)
{
    DIR *d = opendir("/proc/self/fd");
    for (struct dirent *e; (e = readdir(d));)
        if (e->d_name[0] != '.' && atoi(e->d_name) != dirfd(d)) printf("%s\n", e->d_name);
    closedir(d);
}

static int entries(const char *path)
{
    int n = 0;
    DIR *d = opendir(path);
    if (!d) return -1;
    while (readdir(d)) n++;
    closedir(d);
    return n - 2;
}

/* Returns true if the encoder has a separate descriptor table that contains only the log. */
static int encoder_has_its_own(void)
{
    char path[64];
    int found = 0;
    DIR *d = opendir("/proc/self/task");
    for (struct dirent *e; (e = readdir(d));) {
        snprintf(path, sizeof path, "/proc/self/task/%.20s/fd", e->d_name);
        found |= e->d_name[0] != '.' && entries(path) == 1;
    }
    closedir(d);
    return found;
}

static void *work_on(void *arg)
{
    for (int i = 0; i < BLOCKS; i++) free(malloc(100));
    return arg;
}

static void forbid(void)
{
    pthread_t thread[4];
    while (!encoder_has_its_own()) {}
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 0, 0 });
    for (int i = 0; i < 4; i++) pthread_create(&thread[i], NULL, work_on, NULL);
    for (int i = 0; i < 4; i++) pthread_join(thread[i], NULL);
}

/* Writes FILE line by line and allocates between the lines. */
static void write_file(const char *path, int expected)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (fd != expected) exit(3);
    for (int i = 0; i < LINES; i++) {
        char line[32];
        if (write(fd, line, (size_t)snprintf(line, sizeof line, "line %d\n", i)) < 0) exit(4);
        for (int k = 0; k < BLOCKS / LINES; k++) free(malloc(100));
    }
    close(fd);
}

static int daemonise(const char *path)
{
    const pid_t pid = fork();
    int status;
    if (pid) return waitpid(pid, &status, 0) != pid || status;
    setsid();
    closefrom(0);
    range_push("work");
    write_file(path, 0);
    range_pop();
    exit(0);
}

int main(int argc, char **argv)
{
    char end;
    const char *how = argv[1], *path = argc > 2 ? argv[2] : "";
    ranges_init();
    free(malloc((size_t)4 << 20)); /* memprof's encoder starts at the first large block */
    if (!strcmp(how, "daemonise")) return daemonise(path);
    if (!strcmp(how, "list") || !strcmp(how, "eof")) work();
    if (!strcmp(how, "list")) list();
    if (!strcmp(how, "forbid")) forbid();
    if (!strcmp(how, "eof")) {
        close(1);
        return read(0, &end, 1) != 0;
    }
    range_push("work");
    if (!strcmp(how, "closefrom")) {
        closefrom(3);
        write_file(path, 3);
    }
    if (!strcmp(how, "close0")) {
        close(0);
        write_file(path, 0);
    }
    range_pop();
    return 0;
}
