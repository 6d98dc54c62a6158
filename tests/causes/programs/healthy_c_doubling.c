// cause: none
// source: a healthy program
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* An array that doubles: its last growth copies half of it. */
__attribute__((noinline)) static char *grow(char *array, size_t size)
{
    char *larger = malloc(2 * size);
    memcpy(larger, array, size);
    memset(larger + size, 1, size);
    free(array);
    return larger;
}

int main(void)
{
    size_t size = 1 << 20;
    char *array = memset(malloc(size), 1, size);
    for (; size < 64 << 20; size *= 2) {
        array = grow(array, size);
        usleep(50000);
    }
    usleep(500000);
    free(array);
    printf("{\"bytes\": []}\n");
    return 0;
}
