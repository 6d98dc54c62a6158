/* `retains`: frees 125 MiB in blocks below one that lives, so that malloc keeps the pages of those
 * that are no mappings of their own, and lives on for long enough to be seen with them. */
#include <stdlib.h>
#include <time.h>

enum { BLOCKS = 2000, BYTES = 64 << 10, PAGE = 4096, LIVES_S = 3 };

static volatile char *block[BLOCKS], *above;

int main(void)
{
    for (int i = 0; i < BLOCKS; i++) {
        block[i] = malloc(BYTES);
        for (int at = 0; block[i] && at < BYTES; at += PAGE) block[i][at] = 1;
    }
    above = malloc(BYTES);
    for (int i = 0; i < BLOCKS; i++) free((void *)block[i]);
    nanosleep(&(struct timespec){ .tv_sec = LIVES_S }, NULL);
    free((void *)above);
    return 0;
}
