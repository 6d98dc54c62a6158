/* Blocks of jemalloc's own functions are recorded. */
#include "api.h"

void *mallocx(size_t bytes, int flags);
void *rallocx(void *p, size_t bytes, int flags);
size_t xallocx(void *p, size_t bytes, size_t extra, int flags);
void dallocx(void *p, int flags);
void sdallocx(void *p, size_t bytes, int flags);
/* called by C++ for `delete` of an over-aligned object; jemalloc's version calls its own sdallocx
 * by name */
void *_ZnwmSt11align_val_t(size_t bytes, size_t alignment);
void _ZdlPvmSt11align_val_t(void *p, size_t bytes, size_t alignment);

#define ALIGN_4096 12

void use(void)
{
    made(mallocx(1000, 0), 1000);
    made(mallocx(3000, ALIGN_4096), 3000);
    void *p = made(mallocx(500, 0), 500);
    p = moved(rallocx(p, 70000, 0), 500, 70000);
    gone(70000);
    dallocx(p, 0);
    p = made(mallocx(200, 0), 200);
    gone(200);
    sdallocx(p, 200, 0);

    p = made(mallocx(20 << 10, 0), 20 << 10);
    /* Cannot grow in place, so the block is unchanged. */
    if (xallocx(p, 1 << 30, 0, 0) >= 1 << 30) abort();
    if (xallocx(p, 20 << 10, 0, 0) < 20 << 10) abort();
    moved(p, 20 << 10, 20 << 10);

    p = made(_ZnwmSt11align_val_t(300, 64), 300);
    gone(300);
    _ZdlPvmSt11align_val_t(p, 300, 64);
    p = made(malloc(400), 400); /* a block of one library freed by another library's function */
    gone(400);
    dallocx(p, 0);
}
