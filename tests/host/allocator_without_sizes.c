/* An allocator that does not report the sizes of its blocks. */
#include <stddef.h>

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t each);
void *__libc_realloc(void *p, size_t bytes);
void __libc_free(void *p);

void *malloc(size_t bytes);
void *calloc(size_t n, size_t each);
void *realloc(void *p, size_t bytes);
void free(void *p);

void *malloc(size_t bytes) { return __libc_malloc(bytes); }
void *calloc(size_t n, size_t each) { return __libc_calloc(n, each); }
void *realloc(void *p, size_t bytes) { return __libc_realloc(p, bytes); }
void free(void *p) { __libc_free(p); }
