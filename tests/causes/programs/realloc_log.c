// cause: growth
// owner: append_log
// change: flush|bound|keeps
// source: the kind of in-memory logs
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void work(void) { usleep(20000); }

static char *text;
static size_t used, room;

__attribute__((noinline)) static void append_log(const char *line, size_t size)
{
    if (used + size > room) {
        room += 1 << 20;
        text = realloc(text, room);
    }
    memcpy(text + used, line, size);
    used += size;
}

int main(void)
{
    static char line[200 << 10];
    for (int n = 0; n < 200; n++) {
        memset(line, n, sizeof line);
        append_log(line, sizeof line);
        work();
    }
    printf("{\"bytes\": [%zu]}\n", room);
    return 0;
}
