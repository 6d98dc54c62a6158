/* pymalloc is CPython's allocator of small objects (at most 512 bytes). Its arenas are recorded as
 * mappings with this name. With MEMPROF_PYTHON=small a sample of the objects in them is recorded
 * with Python stacks. */
#ifndef MP_PYMALLOC_H
#define MP_PYMALLOC_H

#include <stdbool.h>
#include <stddef.h>

/* Finds the interpreter's functions. @version: as in the layouts. Called when the loader's lock may
 * be taken. */
void mp_pymalloc_find(unsigned version);
/* Code with this return address has created a mapping: records it if it is an arena. The thread
 * then has the interpreter's lock, so sampling begins here. */
bool mp_pymalloc_mapped(const void *caller, void *p, size_t bytes);
/* Returns true if the thread is recording such a mapping. */
bool mp_pymalloc_is_mapping(void);
/* Forgets the samples. Called in a forked child, which has one thread. */
void mp_pymalloc_reset(void);

#endif
