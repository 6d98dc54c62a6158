/* Blocks of tcmalloc's own functions are recorded. */
#include "api.h"

void *tc_malloc(size_t bytes), *tc_malloc_skip_new_handler(size_t bytes),
    *tc_calloc(size_t n, size_t each);
void *tc_realloc(void *p, size_t bytes), *tc_memalign(size_t alignment, size_t bytes),
    *tc_valloc(size_t bytes), *tc_pvalloc(size_t bytes);
int tc_posix_memalign(void **out, size_t alignment, size_t bytes);
void *tc_new(size_t bytes), *tc_newarray(size_t bytes),
    *tc_new_nothrow(size_t bytes, const void *tag);
void *tc_new_aligned(size_t bytes, size_t alignment);
void tc_free(void *p), tc_cfree(void *p), tc_free_sized(void *p, size_t bytes);
void tc_delete(void *p), tc_deletearray(void *p), tc_delete_sized(void *p, size_t bytes),
    tc_delete_aligned(void *p, size_t alignment);

void use(void)
{
    void *p;
    made(tc_malloc(1000), 1000);
    made(tc_malloc_skip_new_handler(1001), 1001);
    made(tc_calloc(10, 101), 1010);
    made(tc_memalign(4096, 1003), 1003);
    made(tc_valloc(1004), 1004);
    made(tc_pvalloc(1005), 1005);
    if (tc_posix_memalign(&p, 64, 1006) != 0) abort();
    made(p, 1006);
    made(tc_new(1007), 1007);
    made(tc_newarray(1008), 1008);
    made(tc_new_nothrow(1009, ""), 1009);
    made(tc_new_aligned(1010, 64), 1010);
    p = moved(tc_realloc(made(tc_malloc(100), 100), 50000), 100, 50000);
    gone(50000);
    if (tc_realloc(p, 0)) abort();

    static void (*const one[])(void *) = { tc_free, tc_cfree, tc_delete, tc_deletearray };
    static void (*const two[])(void *, size_t) = { tc_free_sized, tc_delete_sized };
    for (size_t i = 0; i < sizeof one / sizeof *one; i++) {
        p = made(tc_malloc(128), 128);
        gone(128);
        one[i](p);
    }
    for (size_t i = 0; i < sizeof two / sizeof *two; i++) {
        p = made(tc_malloc(128), 128);
        gone(128);
        two[i](p, 128);
    }
    p = made(tc_new_aligned(128, 64), 128);
    gone(128);
    tc_delete_aligned(p, 64);
}
