/* A library that allocates before other constructors run (64 KiB of calloc, half of which it
 * frees). The function that it registers before its first block runs after memprof has ended its
 * log. */
#include <stdlib.h>

enum { BLOCKS = 64, BYTES = 1024, LATE = 100000 };
static void *block[BLOCKS];
static void *volatile late[LATE];

static void allocate_late(int status, void *arg)
{
    (void)status;
    (void)arg;
    for (int i = 0; i < LATE; i++) late[i] = malloc(100);
    for (int i = 0; i < LATE; i++) free(late[i]);
}

__attribute__((constructor)) static void allocate(void)
{
    on_exit(allocate_late, NULL);
    for (int i = 0; i < BLOCKS; i++) block[i] = calloc(BYTES / 16, 16);
    for (int i = 0; i < BLOCKS; i += 2) free(block[i]);
}
