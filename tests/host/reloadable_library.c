/* A library that is replaced by another one at the same addresses. It is built as alpha, gamma and
 * delta, which differ in the name of a function and in the size of its frame (FRAME). */
#include <stdlib.h>

void go(size_t bytes);
void drop(void);

static void *volatile kept;

static __attribute__((noinline)) void MAKES(size_t bytes)
{
    volatile char frame[FRAME];
    frame[0] = frame[FRAME - 1] = 0;
    kept = malloc(bytes + (size_t)frame[0]);
    frame[0] = frame[FRAME - 1];
}

/* The frame must stay, so the compiler must not make a tail call. */
void go(size_t bytes)
{
    MAKES(bytes);
    __asm__ volatile("" : : : "memory");
}

void drop(void) { free(kept); }
