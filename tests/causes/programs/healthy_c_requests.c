// cause: none
// source: a healthy program
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Requests of very different sizes, of which the largest is not four times the second. */
__attribute__((noinline)) static char *load_report(size_t size)
{
    return memset(malloc(size), 1, size);
}

int main(void)
{
    for (int n = 0; n < 60; n++) {
        char *report = load_report((size_t)(4 + n * 29 % 61) << 20);
        usleep(5000);
        free(report);
    }
    printf("{\"bytes\": []}\n");
    return 0;
}
