/* `work BLOCKS`: keeps and frees blocks of all sizes in three ranges and prints a checksum of their
 * content. It is built without PIE, so that malloc's address is in its own PLT. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ranges.h"

enum { LIVE = 512 };
static unsigned char *live[LIVE];
static size_t size[LIVE];
static uint64_t sum = 14695981039346656037u;
static void *(*volatile allocate)(size_t) = malloc;
static void (*volatile release)(void *) = free;

static void check_in(int i)
{
    for (size_t k = 0; k < size[i]; k += 61) sum = (sum ^ live[i][k]) * 1099511628211u;
    release(live[i]);
    live[i] = NULL;
}

static void one(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    const int i = (int)(*seed >> 33) % LIVE;
    if (live[i]) check_in(i);
    size[i] = 1 + (*seed >> 40) % ((*seed >> 60) ? 2000 : 100000);
    live[i] = allocate(size[i]);
    if (!live[i]) abort();
    memset(live[i], (int)(*seed >> 50), size[i]);
}

int main(int argc, char **argv)
{
    static const char *const name[] = { "read", "parse", "write" };
    const long blocks = argc > 1 ? atol(argv[1]) : 1000;
    uint64_t seed = 1;
    ranges_init();
    for (int phase = 0; phase < 3; phase++) {
        range_push(name[phase]);
        for (long n = 0; n < blocks / 3; n++) one(&seed);
        range_pop();
    }
    for (int i = 0; i < LIVE; i++)
        if (live[i]) check_in(i);
    printf("%016llx\n", (unsigned long long)sum);
    return 0;
}
