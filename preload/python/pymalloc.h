/* pymalloc, CPython's allocator of small objects (512 bytes at most): its arenas are mappings that
 * are called what they are, and of the objects in them a sample has the Python stack that made it
 * (MEMPROF_PYTHON=small). */
#ifndef MP_PYMALLOC_H
#define MP_PYMALLOC_H

#include <stdbool.h>
#include <stddef.h>

/* Finds the interpreter's functions. @version: as in the layouts. Called where the loader's lock
 * may be taken. */
void mp_pymalloc_find(unsigned version);
/* A mapping was made by code with this return address: records it if it is an arena.  The thread
 * has the interpreter's lock then, so this is where sampling begins. */
bool mp_pymalloc_mapped(const void *caller, void *p, size_t bytes);
/* Is that what the thread records? */
bool mp_pymalloc_is_mapping(void);
/* Forgets the samples: in a forked child, single-threaded. */
void mp_pymalloc_reset(void);

#endif
