// cause: none
// source: a healthy program; nearly: holder
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A pool for a gigabyte, of which the program uses 100 MiB. */
enum { RESERVED = 1 << 30, USED = 100 << 20 };

int main(void)
{
    char *pool = mmap(NULL, RESERVED, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    for (int n = 0; n < 20; n++) {
        memset(pool, n, USED);
        usleep(100000);
    }
    return 0;
}
