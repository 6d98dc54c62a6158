/* A program that is linked with jemalloc and reserves address space, as runtimes with their own
 * arenas do: 10 GiB, of which it writes to a few MiB, and 64 MiB of blocks, all of which it writes
 * to. */
#include <err.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { BLOCKS = 2048, BLOCK = 32 << 10 };

int main(void)
{
    static char *volatile block[BLOCKS];
    char *arena = mmap(NULL, (size_t)10 << 30, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (arena == MAP_FAILED) err(1, "mmap");
    memset(arena, 1, (size_t)4 << 20);
    for (int i = 0; i < BLOCKS; i++) {
        block[i] = malloc(BLOCK);
        if (!block[i]) err(1, "malloc");
        memset(block[i], i, BLOCK);
    }
    return 0;
}
