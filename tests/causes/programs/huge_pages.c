// cause: huge_pages
// owner: sparse_hash
// change: huge|THP|MADV_NOHUGEPAGE
// source: gperftools/gperftools#1494
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

__attribute__((noinline)) static char *sparse_hash(void)
{
    char *at = aligned_alloc(2 << 20, 400 << 20);
    madvise(at, 400 << 20, MADV_HUGEPAGE);
    for (size_t i = 0; i < 400 << 20; i += 2 << 20) at[i] = 1;
    return at;
}

int main(void)
{
    char *table = sparse_hash();
    sleep(2);
    printf("{\"bytes\": [%d]}\n", 400 << 20);
    return table[0] - 1;
}
