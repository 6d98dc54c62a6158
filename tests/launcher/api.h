/* Counters of a program that calls an allocator's own API. A profiler must find the same numbers in
 * the range "api". */
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
} counters;

/* Counts a new block p. */
static inline void *made(void *p, size_t bytes)
{
    if (!p) abort();
    counters.allocations++;
    counters.blocks++;
    counters.bytes += bytes;
    return p;
}

/* Counts the free of a block of `bytes` bytes. */
static inline void gone(size_t bytes)
{
    counters.blocks--;
    counters.bytes -= bytes;
}

/* Counts a reallocation with the result q as one allocation and one free. */
static inline void *moved(void *q, size_t from, size_t to)
{
    gone(from);
    return made(q, to);
}

/* Makes the calls of the API. */
void use(void);

int main(void)
{
    ranges_init();
    range_push("api");
    use();
    range_pop();
    printf("%u %u %zu\n", counters.allocations, counters.blocks, counters.bytes);
    return 0;
}

#endif
