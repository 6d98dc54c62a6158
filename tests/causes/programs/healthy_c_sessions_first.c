// cause: none
// source: a healthy program; nearly: retention
// record: MEMPROF_STACKS=sample
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REPLIES = 400000, EACH = 20 };

static void *session[REPLIES / EACH], *reply[REPLIES];

/* The sessions share no page with replies. */
__attribute__((noinline)) static void open_sessions(void)
{
    for (int i = 0; i < REPLIES / EACH; i++) session[i] = memset(malloc(64), 1, 64);
}

__attribute__((noinline)) static void *build_reply(int i)
{
    const size_t bytes = 200 + (size_t)i * 7 % 200;
    return memset(malloc(bytes), 1, bytes);
}

int main(void)
{
    open_sessions();
    for (int i = 0; i < REPLIES; i++) reply[i] = build_reply(i);
    for (int i = 0; i < REPLIES; i++) free(reply[i]);
    sleep(3);
    puts("{\"bytes\": []}");
    return session[0] == NULL;
}
