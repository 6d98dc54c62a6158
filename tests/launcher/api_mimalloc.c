/* Blocks of mimalloc's own functions and heaps are recorded. */
#define _GNU_SOURCE
#include <malloc.h>

#include "api.h"

#include <string.h>

int mi_version(void);
struct heap;
struct heap *mi_heap_new(void);
void mi_heap_delete(struct heap *heap), mi_heap_destroy(struct heap *heap);
void *mi_malloc(size_t bytes), *mi_zalloc(size_t bytes), *mi_malloc_small(size_t bytes),
    *mi_zalloc_small(size_t bytes);
void *mi_calloc(size_t n, size_t each), *mi_mallocn(size_t n, size_t each);
void *mi_malloc_aligned(size_t bytes, size_t alignment),
    *mi_malloc_aligned_at(size_t bytes, size_t alignment, size_t offset);
void *mi_calloc_aligned(size_t n, size_t each, size_t alignment);
void *mi_memalign(size_t alignment, size_t bytes), *mi_valloc(size_t bytes), *mi_new(size_t bytes),
    *mi_new_n(size_t n, size_t each);
int mi_posix_memalign(void **out, size_t alignment, size_t bytes);
char *mi_strdup(const char *text), *mi_strndup(const char *text, size_t max_bytes),
    *mi_realpath(const char *path, char *buffer);
void *mi_realloc(void *p, size_t bytes), *mi_reallocn(void *p, size_t n, size_t each),
    *mi_reallocf(void *p, size_t bytes);
void *mi_rezalloc(void *p, size_t bytes),
    *mi_realloc_aligned(void *p, size_t bytes, size_t alignment), *mi_expand(void *p, size_t bytes);
int mi_reallocarr(void *at, size_t n, size_t each);
void *mi_heap_malloc(struct heap *heap, size_t bytes),
    *mi_heap_calloc(struct heap *heap, size_t n, size_t each);
void *mi_heap_realloc(struct heap *heap, void *p, size_t bytes);
char *mi_heap_strdup(struct heap *heap, const char *text);
void mi_free(void *p), mi_cfree(void *p), mi_free_size(void *p, size_t bytes),
    mi_free_aligned(void *p, size_t alignment);
void mi_free_size_aligned(void *p, size_t bytes, size_t alignment);
/* these call mi_ functions by name inside the allocator */
void *_ZnwmRKSt9nothrow_t(size_t bytes, const void *tag);
void _ZdlPvm(void *p, size_t bytes);

static void allocate(void)
{
    void *p;
    made(mi_malloc(1000), 1000);
    made(mi_zalloc(1001), 1001);
    made(mi_malloc_small(102), 102);
    made(mi_zalloc_small(103), 103);
    made(mi_calloc(10, 101), 1010);
    made(mi_mallocn(10, 102), 1020);
    made(mi_malloc_aligned(1002, 64), 1002);
    made(mi_malloc_aligned_at(1003, 64, 8), 1003);
    made(mi_calloc_aligned(10, 103, 64), 1030);
    made(mi_memalign(4096, 1004), 1004);
    made(mi_valloc(1005), 1005);
    if (mi_posix_memalign(&p, 64, 1006) != 0) abort();
    made(p, 1006);
    made(mi_new(1007), 1007);
    made(mi_new_n(10, 104), 1040);
    made(mi_strdup("ten bytes"), 10);
    made(mi_strndup("ten bytes", 3), 4);
    /* It copies the C library's result. From version 2.1 on it frees that inside the library, where
     * no hook sees it. */
    if (mi_version() < 210) {
        p = mi_realpath("/", NULL);
        made(p, strlen(p) + 1);
        counters.allocations++;
    }
    /* Neither counts as a failed allocation. */
    if (mi_strdup(NULL) || mi_expand(p, 1 << 20)) abort();
}

static void reallocate(void)
{
    void *p = made(mi_realloc(NULL, 100), 100);
    p = moved(mi_realloc(p, 50000), 100, 50000);
    p = moved(mi_reallocn(p, 10, 20), 50000, 200);
    p = moved(mi_reallocf(p, 3000), 200, 3000);
    p = moved(mi_rezalloc(p, 4000), 3000, 4000);
    p = moved(mi_realloc_aligned(p, 6000, 64), 4000, 6000);
    if (mi_reallocarr(&p, 10, 700) != 0) abort();
    moved(p, 6000, 7000);
    p = made(mi_malloc(500), 500);
    moved(mi_expand(p, 400), 500, 400);
}

static void release(void)
{
    static void (*const one[])(void *) = { mi_free, mi_cfree };
    static void (*const two[])(void *, size_t) = { mi_free_size, _ZdlPvm };
    void *p;
    for (size_t i = 0; i < 2; i++) {
        p = made(mi_malloc(128), 128);
        gone(128);
        one[i](p);
        p = made(mi_malloc(128), 128);
        gone(128);
        two[i](p, 128);
    }
    p = made(mi_malloc_aligned(128, 64), 128);
    gone(128);
    mi_free_aligned(p, 64);
    p = made(mi_malloc_aligned(128, 64), 128);
    gone(128);
    mi_free_size_aligned(p, 128, 64);
}

static void use_heaps(void)
{
    /* Blocks of the allocator itself, not of a program. */
    struct heap *kept = mi_heap_new(), *destroyed = mi_heap_new();
    made(mi_heap_malloc(kept, 2000), 2000);
    made(mi_heap_calloc(kept, 10, 201), 2010);
    moved(mi_heap_realloc(kept, made(mi_heap_strdup(kept, "four"), 5), 600), 5, 600);
    mi_heap_delete(kept); /* its blocks stay live */
    for (int i = 0; i < 100; i++) made(mi_heap_malloc(destroyed, 300), 300);
    for (int i = 0; i < 100; i++) gone(300);
    mi_heap_destroy(destroyed);
}

/* The library implements libc's functions with its mi_ functions. */
static void use_libc_names(void)
{
    void *p;
    made(memalign(64, 3001), 3001);
    made(valloc(3002), 3002);
    if (posix_memalign(&p, 64, 3003) != 0) abort();
    made(p, 3003);
    made(aligned_alloc(64, 3072), 3072);
    made(reallocarray(NULL, 10, 301), 3010);
    made(_ZnwmRKSt9nothrow_t(3004, ""), 3004);
}

void use(void)
{
    allocate();
    reallocate();
    release();
    use_heaps();
    use_libc_names();
}
