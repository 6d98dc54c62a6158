/* `server REQUESTS`: a server that leaks. Each request is a range. It allocates and frees a buffer
 * and leaves SESSIONS sessions of SESSION bytes behind. The first quarter of the requests also
 * fills a cache. */
#include <stdlib.h>
#include <string.h>

#include "ranges.h"

#define FRAME static __attribute__((noinline, noclone))

enum { SESSIONS = 3, SESSION = 224, ENTRY = 5000, BUFFER = 100000 };

static void *volatile newest;
/* Volatile: one call site, however the compiler unrolls the loop. */
static volatile int sessions = SESSIONS;

FRAME void make_session(void)
{
    void *session = malloc(SESSION);
    *(void **)session = newest; /* never freed */
    newest = session;
}

FRAME void remember(void **entry)
{
    if (!*entry) *entry = malloc(ENTRY);
    __asm__ volatile("" : : : "memory");
}

FRAME void handle(void **entry)
{
    char *buffer = malloc(BUFFER);
    memset(buffer, 1, BUFFER);
    for (int i = 0; i < sessions; i++) make_session();
    remember(entry);
    free(buffer);
}

int main(int argc, char **argv)
{
    const long requests = argc > 1 ? atol(argv[1]) : 40;
    void **cache = calloc((size_t)requests / 4, sizeof *cache);
    ranges_init();
    for (long i = 0; i < requests; i++) {
        range_push("request");
        handle(&cache[i % (requests / 4)]);
        range_pop();
    }
    return 0;
}
