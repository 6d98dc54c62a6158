/* A library whose constructor allocates before other constructors run: 64 KiB of calloc, half of it freed again. */
#include <stdlib.h>

enum { BLOCKS = 64, BYTES = 1024 };
static void *block[BLOCKS];

__attribute__((constructor)) static void allocate(void)
{
    for (int i = 0; i < BLOCKS; i++) block[i] = calloc(BYTES / 16, 16);
    for (int i = 0; i < BLOCKS; i += 2) free(block[i]);
}
