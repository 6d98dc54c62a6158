// cause: holder
// owner: make_index
// change: chunk|reserve|bound
// source: the kind of databases that build a table in memory that they map themselves
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BYTES = 300 << 20 };

__attribute__((noinline)) static char *make_index(void)
{
    char *index = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(index, 1, BYTES);
    return index;
}

int main(void)
{
    const char *index = make_index();
    sleep(2);
    printf("{\"bytes\": [%d]}\n", BYTES);
    return index[0] - 1;
}
