/* `mlockall FLAGS BLOCKS KIB [child]`: maps KIB, allocates and frees BLOCKS blocks, and calls
 * mlockall unless FLAGS is 0. With `child` a forked child does this. Prints the result and errno of
 * the call, the KiB that can then be mapped (up to 256 MiB), and the locked KiB. Then allocates and
 * frees as many blocks again, and prints the last two numbers again. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PIECE = 64 << 10, PIECES = 4096, TOGETHER = 1000 };

static void *map(size_t bytes)
{
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* Returns the KiB that can be mapped, and unmaps them. */
static int room(void)
{
    static void *piece[PIECES];
    int n = 0;
    while (n < PIECES && (piece[n] = map(PIECE)) != MAP_FAILED) n++;
    for (int i = 0; i < n; i++) munmap(piece[i], PIECE);
    return n * (PIECE >> 10);
}

static long locked(void)
{
    char line[256];
    long kib = -1;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, "VmLck:", 6)) kib = strtol(line + 6, NULL, 10);
    if (f) fclose(f);
    return kib;
}

static void churn(int blocks)
{
    static void *block[TOGETHER];
    for (int i = 0; i < blocks; i++) {
        free(block[i % TOGETHER]);
        block[i % TOGETHER] = malloc(64);
    }
    for (int i = 0; i < TOGETHER; i++) {
        free(block[i]);
        block[i] = NULL;
    }
}

int main(int argc, char **argv)
{
    if (argc < 4) return 2;
    const int blocks = atoi(argv[2]);
    if (atoi(argv[3]) && map((size_t)atoi(argv[3]) << 10) == MAP_FAILED) return 1;
    churn(blocks);
    if (argc == 5 && fork() != 0) {
        int status = 1;
        wait(&status);
        return status != 0;
    }
    errno = 0;
    const int flags = atoi(argv[1]), result = flags ? mlockall(flags) : 0, error = errno;
    printf("%d %d %d %ld", result, error, room(), locked());
    churn(blocks);
    printf(" %d %ld\n", room(), locked());
    return 0;
}
