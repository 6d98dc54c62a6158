// cause: none
// source: a healthy program; nearly: file_mappings
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FILE_BYTES = 56 << 20, PAGE = 4096 };

// The whole index is mapped and read.
static long search_index(const char *index)
{
    long sum = 0;
    for (size_t i = 0; i < FILE_BYTES; i += PAGE) sum += index[i];
    return sum;
}

int main(void)
{
    const int fd = open("index.bin", O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || ftruncate(fd, FILE_BYTES)) return 1;
    const char *index = mmap(NULL, FILE_BYTES, PROT_READ, MAP_SHARED, fd, 0);
    if (index == MAP_FAILED) return 1;
    long sum = 0;
    for (int request = 0; request < 20; request++) {
        sum += search_index(index);
        usleep(100000);
    }
    unlink("index.bin");
    printf("{\"bytes\": [0]}\n");
    return sum != 0;
}
