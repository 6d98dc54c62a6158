// cause: none
// source: a healthy program; nearly: page_tables
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

// A sparse array of 8 GiB, in which each 2 MiB has one page: 16 MiB of pages, and as much of page
// tables.
int main(void)
{
    const size_t bytes = (size_t)8 << 30, step = (size_t)2 << 20;
    char *array = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (array == MAP_FAILED) return 1;
    madvise(array, bytes, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < bytes; i += step) array[i] = 1;
    sleep(2);
    printf("{\"bytes\": [0]}\n");
    return array[step] - 1;
}
