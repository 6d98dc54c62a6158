/* The books of a program that calls an allocator's own API: what a profiler must find in the range
 * "api". */
#ifndef API_H
#define API_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "ranges.h"

static struct {
    unsigned allocations, blocks;
    size_t bytes;
} books;

/* p is a new block. */
static inline void *made(void *p, size_t bytes)
{
    if (!p) abort();
    books.allocations++;
    books.blocks++;
    books.bytes += bytes;
    return p;
}

/* A block of `bytes` bytes is about to go. */
static inline void gone(size_t bytes)
{
    books.blocks--;
    books.bytes -= bytes;
}

/* q is what became of a block: one allocation, one free. */
static inline void *moved(void *q, size_t from, size_t to)
{
    gone(from);
    return made(q, to);
}

/* The calls of the API. */
void use(void);

int main(void)
{
    ranges_init();
    range_push("api");
    use();
    range_pop();
    printf("%u %u %zu\n", books.allocations, books.blocks, books.bytes);
    return 0;
}

#endif
