// clang-format off
/* A program to attach to. It obeys the commands on its standard input, one per line, and answers each with
 * a line:
 *   keep N BYTES   allocates N blocks and keeps them
 *   drop           frees the blocks of the last keep
 *   move BYTES     reallocates them
 *   threads N      starts threads that allocate and free until the end
 *   loader FILE    starts a thread that opens and closes this library until the end
 *   forker         starts a thread that forks children, each of which allocates and exits
 *   load FILE      opens a library and calls its function plugin_work
 *   filter         installs a seccomp filter that allows every call
 * At the end of its input it ends its threads and exits with 0, or with 1 if a block was damaged or a child
 * failed. */
// clang-format on
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 64, KEPT = 64, BLOCKS = 1 << 20 };

static pthread_t thread[THREADS];
static int threads;
static volatile bool ends, failed;
static char *block[BLOCKS];
static int blocks;

static void *allocate(void *arg)
{
    unsigned random = (unsigned)(size_t)arg;
    unsigned char *kept[KEPT] = { 0 };
    for (int i; !ends;) {
        random = random * 1103515245 + 12345;
        i = random >> 16 & (KEPT - 1);
        if (kept[i] && *kept[i] != (unsigned char)i) failed = true;
        free(kept[i]);
        kept[i] = malloc(1 + (random >> 8 & 1023));
        if (kept[i]) *kept[i] = (unsigned char)i;
    }
    for (int i = 0; i < KEPT; i++) free(kept[i]);
    return NULL;
}

static void *open_and_close(void *arg)
{
    while (!ends) {
        void *library = dlopen(arg, RTLD_NOW);
        if (!library || !dlsym(library, "plugin_work")) failed = true;
        else dlclose(library);
    }
    return NULL;
}

static void *fork_children(void *arg)
{
    while (!ends) {
        int status = 0;
        const pid_t child = fork();
        if (!child) {
            void *volatile p = malloc(100);
            free(p);
            _exit(7);
        }
        if (child > 0 && (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 7))
            failed = true;
    }
    return arg;
}

static void start(void *(*run)(void *), void *arg)
{
    if (threads < THREADS && pthread_create(&thread[threads], NULL, run, arg) == 0) threads++;
    else failed = true;
}

static void keep(int count, size_t bytes)
{
    for (blocks = 0; blocks < count && blocks < BLOCKS; blocks++) {
        block[blocks] = malloc(bytes);
        memset(block[blocks], 1, bytes);
    }
}

static void drop(void)
{
    while (blocks) free(block[--blocks]);
}

static void move(size_t bytes)
{
    for (int i = 0; i < blocks; i++) {
        char *moved = realloc(block[i], bytes);
        if (moved) block[i] = moved;
        else failed = true;
    }
}

static void load(const char *file)
{
    void *library = dlopen(file, RTLD_NOW);
    void (*work)(void) = library ? (void (*)(void))dlsym(library, "plugin_work") : NULL;
    if (work) work();
    else failed = true;
}

static void filter(void)
{
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const struct sock_fprog program = { 1, &allow };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        failed = true;
}

static void obey(char *line)
{
    static char file[4096];
    int count;
    size_t bytes;
    line[strcspn(line, "\n")] = 0;
    if (sscanf(line, "keep %d %zu", &count, &bytes) == 2) keep(count, bytes);
    else if (strcmp(line, "drop") == 0) drop();
    else if (sscanf(line, "move %zu", &bytes) == 1) move(bytes);
    else if (sscanf(line, "threads %d", &count) == 1)
        for (int i = 0; i < count; i++) start(allocate, (void *)(size_t)(threads + 1));
    else if (sscanf(line, "loader %4000s", file) == 1) start(open_and_close, file);
    else if (strcmp(line, "forker") == 0) start(fork_children, NULL);
    else if (strncmp(line, "load ", 5) == 0) load(line + 5);
    else if (strcmp(line, "filter") == 0) filter();
    else failed = true;
}

int main(void)
{
    static char line[4096], in[4096];
    setvbuf(stdin, in, _IOFBF, sizeof in);
    while (fgets(line, sizeof line, stdin)) {
        obey(line);
        if (write(1, "done\n", 5) != 5) failed = true;
    }
    ends = true;
    for (int i = 0; i < threads; i++) pthread_join(thread[i], NULL);
    return failed;
}
