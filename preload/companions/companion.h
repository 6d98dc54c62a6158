/* What libmemprof.so offers to its companion libraries, which export the names of one allocator's
 * own API (libmemprof-jemalloc.so, libmemprof-mimalloc.so, libmemprof-tcmalloc.so).
 *
 * Use as in the hooks of malloc: a free before the real free, an allocation after the real one, a
 * move on both sides. Any thread, any context; errno is kept. */
#ifndef MP_COMPANION_H
#define MP_COMPANION_H

#include <stddef.h>

void memprof_record_alloc(void *p, size_t bytes);
void memprof_record_free(void *p);
/* A reallocation of p begins; it ends with move_end (q NULL: p was freed) or with fail (p stays as
 * it was). */
void memprof_record_move_begin(void *p);
void memprof_record_move_end(void *q, size_t bytes);
/* The failed call left its reason in errno. */
void memprof_record_fail(size_t bytes);

#endif
