/* `retained_pages [static]`: frees 125 MiB in blocks below a block that stays live, so that malloc
 * keeps their pages unless a block has its own mapping.  Then the program keeps running long
 * enough for memprof to take samples.
 * static: touches as much static memory 0.4 s after the frees. */
#include <stdlib.h>
#include <time.h>

enum { BLOCKS = 2000, BYTES = 64 << 10, PAGE = 4096, LIVES_S = 3, PAUSE_NS = 400000000 };

static volatile char *block[BLOCKS], *above, later[BLOCKS * BYTES];

int main(int argc, char **argv)
{
    (void)argv;
    for (int i = 0; i < BLOCKS; i++) {
        block[i] = malloc(BYTES);
        for (int at = 0; block[i] && at < BYTES; at += PAGE) block[i][at] = 1;
    }
    above = malloc(BYTES);
    for (int i = 0; i < BLOCKS; i++) free((void *)block[i]);
    if (argc > 1) nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
    for (int at = 0; argc > 1 && at < BLOCKS * BYTES; at += PAGE) later[at] = 1;
    nanosleep(&(struct timespec){ .tv_sec = LIVES_S }, NULL);
    free((void *)above);
    return 0;
}
