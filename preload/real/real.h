/* The functions that the hooks replace: the next definition of each name in the program.
 *
 * All are looked up at the first hook call, in any thread and under any lock: symbol.h allocates
 * nothing and takes no lock. A name that the program does not have gets a stand-in (raw.h), so
 * there is always a function to call. */
#ifndef MP_REAL_H
#define MP_REAL_H

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <unistd.h>

#include "base/cold.h"

/* not every C library declares it */
void cfree(void *p);
void free_sized(void *p, size_t bytes);
void free_aligned_sized(void *p, size_t alignment, size_t bytes);
int execveat(int dir, const char *path, char *const argv[], char *const envp[], int flags);

struct mp_real {
#define MP_HOOK(name) __typeof__(name) *name;
#define MP_HOOK_CXX(name)
#define MP_HOOK_TORCH(name)
#include "real/hooks.def"
#undef MP_HOOK
#undef MP_HOOK_CXX
#undef MP_HOOK_TORCH
};
extern struct mp_real mp_real __attribute__((visibility("hidden")));
extern bool mp_real_known; /* all that exist have been found */

void mp_real_resolve(void) MP_COLD;
/* Must be called before mp_real is used. Any context. */
static inline void mp_real_ready(void)
{
    if (__builtin_expect(!__atomic_load_n(&mp_real_known, __ATOMIC_ACQUIRE), 0)) mp_real_resolve();
}

/* True if the program's calls of malloc reach these hooks. False if the program or an object
 * preloaded earlier defines malloc. Then blocks are not recorded, and any hook may be called under
 * that allocator's lock. */
extern bool mp_real_has_heap;

/* Called once memprof was loaded into a running process, before the calls of its objects are led to
 * the hooks: they serve the program, unless the program itself defines malloc. */
void mp_real_attach(void);

/* Set if free is that of the C library, so that the word before a block may be read. */
extern bool mp_real_frees_libc;

/* Returns the usable bytes of a block of glibc's malloc in @usable, or false if malloc_usable_size
 * must be called. glibc stores a block's size before it, with three flag bits, of which the second
 * means that the block is a mapping. */
static inline bool mp_real_libc_bytes(const void *p, size_t *usable)
{
    const size_t head = *(const size_t *)((uintptr_t)p - sizeof head);
    *usable = (head & ~(size_t)7) - sizeof head;
    return !(head & 2);
}

/* jemalloc's control function if jemalloc serves malloc, otherwise NULL. It takes jemalloc's locks
 * and uses thread-local storage, so it may only be called in a thread of the program that has just
 * got a block. */
extern int (*mp_real_mallctl)(const char *name, void *old, size_t *old_bytes, void *new,
                              size_t new_bytes);

/* Returns the malloc_usable_size of the object that serves malloc, or NULL without one. As
 * below. */
size_t (*mp_real_usable(void))(void *p);

/* Returns the file name of the object that serves malloc: "libc.so.6", "libjemalloc.so.2" or the
 * program's. The first call looks it up and may take the loader's lock. */
const char *mp_real_allocator(void);
/* Returns true if the code address is in that object and the object is not the C library, so a
 * mapping it makes is the allocator's. Any context; false before the object was looked up. */
bool mp_real_in_allocator(const void *code);
/* From now on mappings created by this code's object file (the CUDA driver) are also left out. */
void mp_real_exclude(const void *code);
/* Finds the object (file name) that contains a function, and its first address. Only from a
 * constructor or at first use. */
bool mp_real_object_of(const void *function, const char **name, const void **base);

#endif
