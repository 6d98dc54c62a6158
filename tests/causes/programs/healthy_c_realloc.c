// cause: none
// source: a healthy program
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A buffer that realloc grows: it never holds two copies. */
static char *buffer;
static size_t used, room;

__attribute__((noinline)) static void append(size_t size)
{
    if (used + size > room) {
        room = room ? 2 * room : 1 << 20;
        buffer = realloc(buffer, room);
    }
    memset(buffer + used, 1, size);
    used += size;
}

int main(void)
{
    for (int n = 0; n < 1200; n++) {
        append(100000);
        if (n % 10 == 0) usleep(10000);
    }
    usleep(500000);
    free(buffer);
    printf("{\"bytes\": []}\n");
    return 0;
}
