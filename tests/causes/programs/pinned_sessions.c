// cause: retention
// owner: keep_session
// change: pool|before the burst
// source: cortexkit/aft#205, amule-org/amule#1153
// record: MEMPROF_STACKS=sample
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REPLIES = 400000, EACH = 20 };

static void *session[REPLIES / EACH], *reply[REPLIES];

__attribute__((noinline)) static void *keep_session(void) { return memset(malloc(64), 1, 64); }

__attribute__((noinline)) static void *build_reply(int i)
{
    const size_t bytes = 200 + (size_t)i * 7 % 200;
    return memset(malloc(bytes), 1, bytes);
}

int main(void)
{
    for (int i = 0; i < REPLIES; i++) {
        reply[i] = build_reply(i);
        if (i % EACH == 0) session[i / EACH] = keep_session();
    }
    for (int i = 0; i < REPLIES; i++) free(reply[i]);
    const struct mallinfo2 info = mallinfo2();
    sleep(3);
    printf("{\"bytes\": [%zu]}\n", info.fordblks - info.keepcost);
    return session[0] == NULL;
}
