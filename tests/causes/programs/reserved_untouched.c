// cause: holder
// owner: cache_fill
// change: cache|resident
// source: gperftools/gperftools#342
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

__attribute__((noinline)) static char *reserve_table(void) { return calloc(2ul << 30, 1); }
__attribute__((noinline)) static char *cache_fill(void)
{
    return memset(malloc(300 << 20), 1, 300 << 20);
}

int main(void)
{
    char *table = reserve_table(), *cache = cache_fill();
    for (size_t i = 0; i < 20 << 20; i += 4096) table[i] = 1;
    sleep(2);
    printf("{\"bytes\": [%d]}\n", 300 << 20);
    return cache[0] - table[0];
}
