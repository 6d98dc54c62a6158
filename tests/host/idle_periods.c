/* Programs that are idle between short periods of work.
 *
 * lives: allocates blocks of 2 MiB that live 30 ms each.
 * touch: only touches a block, for 0.9 s.
 * protect: makes a mapping writable with mprotect, piece by piece. */
#include <err.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BLOCK = 2 << 20, PIECE = 1 << 20, PIECES = 30 };

static void allocate_short_lived(void)
{
    for (int i = 0; i < 20; i++) {
        void *p = malloc(BLOCK);
        usleep(30000);
        if (i % 2) p = realloc(p, BLOCK / 2);
        free(p);
    }
}

static void touch(void)
{
    char *p = malloc((size_t)PIECES * PIECE);
    for (size_t i = 0; p && i < PIECES; i++) {
        memset(p + i * PIECE, 1, PIECE);
        usleep(30000);
    }
}

static __attribute__((noinline)) void protect(void)
{
    char *p = mmap(NULL, (size_t)PIECES * PIECE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) err(1, "mmap");
    for (size_t i = 0; i < PIECES; i++)
        if (mprotect(p + i * PIECE, PIECE, PROT_READ | PROT_WRITE)) err(1, "mprotect");
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    if (strcmp(mode, "lives") == 0) allocate_short_lived();
    else if (strcmp(mode, "touch") == 0) touch();
    else if (strcmp(mode, "protect") == 0) protect();
    else errx(2, "lives, touch or protect");
    return 0;
}
