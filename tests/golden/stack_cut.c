/* Recorded as stack-cut.zst: a block of 2 MiB, allocated in a hundred nested calls. */
#include <stdlib.h>

static void *volatile kept;

static __attribute__((noinline)) void dive(int calls)
{
    if (calls) dive(calls - 1);
    else kept = malloc(2 << 20);
    __asm__ volatile("" : : : "memory");
}

int main(void)
{
    dive(100);
    return 0;
}
