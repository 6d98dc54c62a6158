/* A program with a statically linked allocator, like one with a static jemalloc. With an argument
 * it writes a line and waits for the end of its input. */
#include <stdlib.h>
#include <unistd.h>

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

int main(int argc, char **argv)
{
    char *volatile p = malloc(100);
    char byte;
    (void)argv;
    free(p);
    if (argc > 1 && write(1, "\n", 1) == 1) return (int)read(0, &byte, 1);
    return 0;
}
