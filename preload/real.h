/* The functions that the hooks stand in front of: the next definition of each name in the program.
 *
 * Resolved together at the first hook call, in whatever thread that is; dlsym itself allocates, so until then
 * allocations come from a small arena inside memprof that is never given back. */
#ifndef MP_REAL_H
#define MP_REAL_H

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <unistd.h>

#include "cold.h"

/* not declared by every C library that may be there */
void cfree(void *p);
void free_sized(void *p, size_t bytes);
void free_aligned_sized(void *p, size_t alignment, size_t bytes);
int execveat(int dir, const char *path, char *const argv[], char *const envp[], int flags);
/* <threads.h> has the name of a header here */
__attribute__((noreturn)) void thrd_exit(int result);

struct mp_real {
#define MP_HOOK(name) __typeof__(name) *name;
#define MP_HOOK_CXX(name)
#define MP_HOOK_TORCH(name)
#include "hooks.def"
#undef MP_HOOK
#undef MP_HOOK_CXX
#undef MP_HOOK_TORCH
};
extern struct mp_real mp_real;
extern bool mp_real_known;          /* every member that exists is set */

/* Sets mp_real.  True when it is set on return; false while this or another thread is still at it: use the arena. */
bool mp_real_resolve(void) MP_COLD;
static inline bool mp_real_ready(void) { return __builtin_expect(__atomic_load_n(&mp_real_known, __ATOMIC_ACQUIRE), 1) || mp_real_resolve(); }

/* jemalloc's control, when jemalloc serves malloc; else NULL.  It takes jemalloc's locks: for memprof's own thread only. */
extern int (*mp_real_mallctl)(const char *name, void *old, size_t *old_bytes, void *new, size_t new_bytes);

/* The arena: zeroed memory, alignment at most 4096; NULL when it is used up. */
#define MP_ARENA_BYTES (256u << 10)
extern uint8_t mp_real_arena[MP_ARENA_BYTES];
void *mp_real_arena_alloc(size_t bytes, size_t alignment) MP_COLD;
static inline bool mp_real_from_arena(const void *p) { return (uintptr_t)p - (uintptr_t)mp_real_arena < MP_ARENA_BYTES; }
/* Bytes from p to the end of the arena: what a copy of a block of unknown size may read. */
static inline size_t mp_real_arena_room(const void *p) { return (size_t)(mp_real_arena + MP_ARENA_BYTES - (const uint8_t *)p); }

/* File name of the object that serves malloc ("libc.so.6", "libjemalloc.so.2"). */
const char *mp_real_allocator(void);
/* Is this code address in that object, and is that not the C library?  Then a mapping it makes is the allocator's. */
bool mp_real_in_allocator(const void *code);
/* From now on mappings made by this code's object file are left out too: the CUDA driver's. */
void mp_real_exclude(const void *code);
/* The object (file name) and its first address that holds a function; from a constructor or at first use only. */
bool mp_real_object_of(const void *function, const char **name, const void **base);

#endif
