// cause: file_mappings
// owner: causes_index.bin|open_index
// change: madvise|mapped|page cache
// source: ksahlin/strobealign#481, facebook/rocksdb#7050
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fcntl.h>

__attribute__((noinline)) static char *open_index(const char *path)
{
    const int fd = open(path, O_RDWR | O_CREAT, 0600);
    if (ftruncate(fd, 300 << 20)) return NULL;
    char *at = mmap(NULL, 300 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    memset(at, 1, 300 << 20);
    close(fd);
    return at;
}

int main(void)
{
    char *index = open_index("/tmp/causes_index.bin");
    sleep(2);
    unlink("/tmp/causes_index.bin");
    printf("{\"bytes\": [%d]}\n", 300 << 20);
    return index[5] - 1;
}
