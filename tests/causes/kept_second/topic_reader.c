// clang-format off
// cause: file_mappings
// owner: \.segment|segment|file
// change: madvise|munmap|unmap|MADV_|map|read\(|page cache|reclaim|pread|window|cache|evict|releas
// source: a log-structured message queue maps all segment files of a topic, and never unmaps those that every consumer has read
// clang-format on
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SEGMENTS = 5, SEGMENT = 48 << 20, BLOCK = 1 << 20 };

static void name_of(char *name, size_t size, const char *folder, int number)
{
    snprintf(name, size, "%s/%08d.segment", folder, number);
}

static void write_segment(const char *name, int number)
{
    static char block[BLOCK];
    int file = open(name, O_CREAT | O_WRONLY, 0600);
    if (file < 0) exit(1);
    memset(block, number + 1, BLOCK);
    for (int i = 0; i < SEGMENT / BLOCK; i++)
        if (write(file, block, BLOCK) != BLOCK) exit(1);
    close(file);
}

__attribute__((noinline)) static const unsigned char *map_segment(const char *name)
{
    int file = open(name, O_RDONLY);
    void *start = mmap(NULL, SEGMENT, PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (start == MAP_FAILED) exit(1);
    return start;
}

__attribute__((noinline)) static unsigned consume(const unsigned char *segment)
{
    unsigned sum = 0;
    for (size_t at = 0; at < SEGMENT; at += 512) {
        sum += segment[at];
        if (at % (4 << 20) == 0) usleep(20000);
    }
    return sum;
}

int main(void)
{
    char folder[] = "topic-XXXXXX", name[64];
    unsigned sum = 0;
    if (mkdtemp(folder) == NULL) return 1;
    for (int i = 0; i < SEGMENTS; i++) {
        name_of(name, sizeof name, folder, i);
        write_segment(name, i);
        sum += consume(map_segment(name));
    }
    sleep(2);
    for (int i = 0; i < SEGMENTS; i++) {
        name_of(name, sizeof name, folder, i);
        unlink(name);
    }
    rmdir(folder);
    printf("checksum %u\n{\"bytes\": [%zu, %d]}\n", sum, (size_t)SEGMENTS * SEGMENT, SEGMENT);
    return 0;
}
