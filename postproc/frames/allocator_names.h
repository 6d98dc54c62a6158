/* Names of functions of allocators that programs link statically: jemalloc, mimalloc, tcmalloc,
 * snmalloc, rpmalloc, dlmalloc, nedmalloc. */
#ifndef MPR_ALLOCATOR_NAMES_H
#define MPR_ALLOCATOR_NAMES_H

#include <stdbool.h>

/* Returns true if the function is a call of such an allocator, such as je_malloc,
 * duckdb_je_malloc, mi_heap_zalloc_aligned or dlmalloc, or one that maps its memory, such as
 * os_pages_map.  A prefix alone is not enough: tc_alloc_tiles is another program's function.
 * @function: without parameters, template arguments, file and library. */
bool mpr_is_allocator(const char *function);

#endif
