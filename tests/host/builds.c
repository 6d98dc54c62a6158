/* A program in two builds. The build with CHANGED has additional lines above everything else, and
 * its build_index allocates a tenth more. */
#include <stdlib.h>

#define FRAME static __attribute__((noinline, noclone))

static void *volatile keep[4];
static unsigned kept;

#ifdef CHANGED
enum { TABLE = 2200000 };
#line 112
#else
enum { TABLE = 2000000 };
#endif

FRAME void *hold(void *p)
{
    keep[kept++] = p;
    __asm__ volatile("" : : : "memory");
    return p;
}

FRAME void *build_index(void) { return hold(malloc(TABLE)); }
FRAME void *read_table(void) { return hold(malloc(5000000)); }

FRAME void *load(void)
{
    void *p = hold(malloc(3000000));
    build_index();
    return hold(p);
}

int main(void)
{
    load();
    read_table();
    return 0;
}
