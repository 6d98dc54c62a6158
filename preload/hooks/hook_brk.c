/* The program's break, recorded in host/mmap: memory of an allocator that is linked into the
 * program. The C library's malloc moves the break without these hooks. */
#include <errno.h>

#include "base/sys.h"
#include "core/record.h"
#include "real/real.h"

#define HOOK   __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)

/* Returns the end of the pages that the kernel has mapped up to a break. */
static uintptr_t pages_up_to(uintptr_t at)
{
    const uintptr_t rest = mp_sys_page() - 1;
    return (at + rest) & ~rest;
}

/* Queries the new break, because the C library does not report a break that the kernel does not
 * lower. */
static void moved(const void *caller, const void *before)
{
    const uintptr_t from = pages_up_to((uintptr_t)before);
    const uintptr_t to = pages_up_to((uintptr_t)mp_real.sbrk(0));
    if (from == to || mp_real_in_allocator(caller)) return;
    if (to > from) mp_record(MPF_OP_MAP, MPF_HEAP_MMAP, from, to - from);
    else mp_record(MPF_OP_UNMAP, MPF_HEAP_NONE, to, from - to);
}

static void refused(const void *caller, size_t bytes)
{
    if (!mp_real_in_allocator(caller)) mp_record_fail(MPF_HEAP_MMAP, errno, bytes);
}

HOOK void *sbrk(intptr_t more)
{
    mp_real_ready();
    void *before = mp_real.sbrk(more);
    if (before == (void *)-1) refused(CALLER, (size_t)more);
    else if (more) moved(CALLER, before);
    return before;
}

HOOK int brk(void *to)
{
    mp_real_ready();
    const char *before = mp_real.sbrk(0);
    const int result = mp_real.brk(to);
    if (result) refused(CALLER, (size_t)((char *)to - before));
    else moved(CALLER, before);
    return result;
}
