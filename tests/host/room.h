/* Free space in glibc's main arena for the allocations of a program that may not get more
 * memory. */
#ifndef ROOM_H
#define ROOM_H

#include <malloc.h>
#include <stdlib.h>

static inline void keep_room(void)
{
    enum { ROOM = 8 << 20 };
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, 2 * ROOM);
    mallopt(M_TRIM_THRESHOLD, 4 * ROOM);
    void *volatile room = malloc(ROOM);
    free(room);
}

#endif
