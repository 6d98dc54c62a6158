// cause: instance
// owner: load_report|handle
// change: request|stream|chunk
// source: the kind of report servers
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void work(void) { usleep(20000); }

__attribute__((noinline)) static char *load_report(size_t size)
{
    return memset(malloc(size), 1, size);
}

__attribute__((noinline)) static void handle(int n)
{
    char *report = load_report(n == 37 ? 400 << 20 : 4 << 20);
    work();
    free(report);
}

int main(void)
{
    for (int n = 0; n < 60; n++) handle(n);
    printf("{\"bytes\": [%d]}\n", 400 << 20);
    return 0;
}
