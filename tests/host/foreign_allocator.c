/* An allocator that exports the C library's names, as tcmalloc and mimalloc do. The bytes before
 * its blocks must not be read. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096 };

void *malloc(size_t bytes);
void *calloc(size_t n, size_t each);
void *realloc(void *p, size_t bytes);
void free(void *p);
void *__libc_malloc(size_t bytes) __attribute__((alias("malloc")));
void __libc_free(void *p) __attribute__((alias("free")));

/* The page before a block cannot be accessed. Its size is stored in the page before
 * this. */
static size_t *head(void *p) { return (size_t *)((char *)p - (ptrdiff_t)2 * PAGE); }

static void *give(size_t bytes)
{
    const size_t mapped = (2 + (bytes + PAGE - 1) / PAGE) * PAGE;
    const long got =
        syscall(SYS_mmap, NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bytes >= PTRDIFF_MAX || got == -1) return NULL;
    char *const base = (char *)got;
    syscall(SYS_mprotect, base + PAGE, (size_t)PAGE, PROT_NONE);
    *(size_t *)(void *)base = bytes;
    return base + (ptrdiff_t)2 * PAGE;
}

static void take(void *p)
{
    if (!p) return;
    syscall(SYS_munmap, head(p), (2 + (*head(p) + PAGE - 1) / PAGE) * PAGE);
}

void *calloc(size_t n, size_t each)
{
    size_t bytes;
    return __builtin_mul_overflow(n, each, &bytes) ? NULL : give(bytes);
}

void *realloc(void *p, size_t bytes)
{
    void *q = give(bytes);
    if (!p || !q) return q;
    memcpy(q, p, *head(p) < bytes ? *head(p) : bytes);
    take(p);
    return q;
}

void *malloc(size_t bytes) { return give(bytes); }
void free(void *p) { take(p); }
