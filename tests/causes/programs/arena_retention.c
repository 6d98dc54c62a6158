// cause: retention
// owner: burst|build_reply|keep_session
// change: malloc_trim|arena|MALLOC_
// source: cortexkit/aft#205, jemalloc/jemalloc#2988
// record: MEMPROF_HOST=sample
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void *kept[8192], *burst[131072];

__attribute__((noinline)) static void *keep_session(void) { return memset(malloc(64), 1, 64); }
__attribute__((noinline)) static void *build_reply(void) { return memset(malloc(4000), 1, 4000); }

int main(void)
{
    int sessions = 0;
    for (int i = 0; i < 60000; i++) {
        burst[i] = build_reply();
        if (i % 16 == 0) kept[sessions++] = keep_session();
    }
    for (int i = 0; i < 60000; i++) free(burst[i]);
    sleep(3);
    printf("{\"bytes\": [%d]}\n", 60000 * 4016);
    return kept[0] == NULL;
}
