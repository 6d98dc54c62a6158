// cause: holder
// owner: append
// change: chunk|reserve
// source: the kind of exports that collect the whole answer in a buffer that doubles
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE = 50000, LINES = 3600 };

static struct {
    char *data;
    size_t used, room;
} answer;

__attribute__((noinline)) static void append(const char *text, size_t bytes)
{
    if (answer.used + bytes > answer.room) {
        answer.room = answer.room ? 2 * answer.room : 1 << 20;
        answer.data = realloc(answer.data, answer.room);
    }
    memcpy(answer.data + answer.used, text, bytes);
    answer.used += bytes;
}

int main(void)
{
    static char line[LINE];
    memset(line, 'x', sizeof line);
    for (int n = 0; n < LINES; n++) append(line, sizeof line);
    sleep(2);
    printf("{\"bytes\": [%zu, %d]}\n", answer.room, LINES * LINE);
    return 0;
}
