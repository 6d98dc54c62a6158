// cause: page_tables
// owner: touch_sparse|page table
// change: page table|dense|huge
// source: jimblandy/context-switch#4
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

__attribute__((noinline)) static char *touch_sparse(void)
{
    char *at = mmap(NULL, 100ul << 30, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    for (size_t i = 0; i < 100ul << 30; i += 2 << 20) at[i] = 1;
    return at;
}

int main(void)
{
    char *at = touch_sparse();
    sleep(2);
    printf("{\"bytes\": [%d]}\n", 51200 * 4096);
    return at[0] - 1;
}
