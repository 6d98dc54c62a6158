/* Functions that libmemprof.so offers to its companion libraries, which export the names of one
 * allocator's API (libmemprof-jemalloc.so, libmemprof-mimalloc.so, libmemprof-tcmalloc.so) or of
 * the CUDA driver's (libmemprof-cuda.so).
 *
 * Used as in the hooks of malloc: a free before the real free, an allocation after the real one, a
 * move on both sides. Any thread, any context; errno is kept. */
#ifndef MP_COMPANION_H
#define MP_COMPANION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void memprof_record_alloc(void *p, size_t bytes);
void memprof_record_free(void *p);
/* A reallocation of p begins. It ends with move_end (q NULL: p was freed), or with fail if p is
 * unchanged. */
void memprof_record_move_begin(void *p);
void memprof_record_move_end(void *q, size_t bytes);
/* Must be called while errno is the reason of the failed call. */
void memprof_record_fail(size_t bytes);

/* Returns the driver call of exactly this name, or NULL if memprof does not observe it or was built
 * without CUDA's headers. */
struct memprof_driver_call;
const struct memprof_driver_call *memprof_driver_call(const char *name);
/* Called at the entry of a call. @params: its struct of generated_cuda_meta.h, or NULL if it has
 * none. @keep: a word that lasts until the return. Returns false if memprof does not listen; then
 * the return is not reported. */
bool memprof_driver_enter(const struct memprof_driver_call *call, const void *params,
                          uint64_t *keep);
/* Called at the return of the call. @result: its CUresult. */
void memprof_driver_return(const struct memprof_driver_call *call, const void *params,
                           uint64_t *keep, int result);

#endif
