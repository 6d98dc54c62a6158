/* A program with a statically linked allocator, like one with a static jemalloc. */
#include <stdlib.h>

static char arena[1 << 20];
static size_t used;

void *malloc(size_t bytes)
{
    used = (used + 15) & ~(size_t)15;
    void *p = used + bytes < sizeof arena ? arena + used : NULL;
    used += bytes;
    return p;
}

void free(void *p) { (void)p; }

int main(void)
{
    char *volatile p = malloc(100);
    free(p);
    return 0;
}
