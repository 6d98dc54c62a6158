/* Mappings: the program's writable anonymous memory (host/mmap) and shared memory (host/shm).
 *
 * The hooks record how calls changed address ranges. Replay knows the earlier mappings. An
 * allocator's mappings are excluded by the calling object, because its blocks are counted when they
 * are allocated. libc's own mappings (thread stacks, malloc's arenas) do not use these functions.
 */
#include <errno.h>

#include "base/sys.h"
#include "core/process.h"
#include "core/record.h"
#include "hooks/shm.h"
#include "python/pymalloc.h"
#include "real/real.h"

#define HOOK    __attribute__((visibility("default")))
#define CALLER  __builtin_return_address(0)
#define SAMPLED ((size_t)16 << 20) /* mappings of this size and above are worth samples */

/* A size of a terabyte or more does not fit into one event. */
#define PIECE ((size_t)1 << 39)
static void region(unsigned op, unsigned heap, uintptr_t at, size_t bytes)
{
    for (; bytes > PIECE; at += PIECE, bytes -= PIECE) mp_record(op, heap, at, PIECE);
    mp_record(op, heap, at, bytes);
}

static size_t pages(size_t bytes)
{
    const size_t rest = mp_sys_page() - 1;
    return (bytes + rest) & ~rest;
}

/* Returns the heap of a mapping, or MPF_HEAP_NONE for a file. */
static unsigned heap_of(int flags, int fd)
{
    const int type = flags & MAP_TYPE;
    const bool shared = type == MAP_SHARED || type == MAP_SHARED_VALIDATE;
    if (flags & MAP_ANONYMOUS) return shared ? MPF_HEAP_SHM : MPF_HEAP_MMAP;
    return shared && mp_shm_kind(fd) != MP_SHM_NONE ? MPF_HEAP_SHM : MPF_HEAP_NONE;
}

/* The kernel ignores MAP_HUGETLB for files. */
static bool asks_huge_pages(int flags, int fd)
{
    return flags & MAP_ANONYMOUS ? flags & MAP_HUGETLB : mp_shm_kind(fd) == MP_SHM_HUGE;
}

static void not_mapped(unsigned heap, size_t bytes, int flags, int fd)
{
    if (asks_huge_pages(flags, fd)) mp_record_fail_huge_pages(heap, errno, bytes);
    else mp_record_fail(heap, errno, bytes);
}

static __attribute__((noinline)) void mapped(const void *caller, void *p, size_t bytes, int prot,
                                             int flags, int fd)
{
    if (mp_real_in_allocator(caller)) return;
    const unsigned heap = heap_of(flags, fd);
    if (p == MAP_FAILED) {
        if (heap != MPF_HEAP_NONE) not_mapped(heap, bytes, flags, fd);
    } else if (heap == MPF_HEAP_MMAP && mp_pymalloc_mapped(caller, p, bytes)) return;
    else if (heap != MPF_HEAP_NONE)
        region(prot & PROT_WRITE ? MPF_OP_MAP : MPF_OP_RESERVE, heap, (uintptr_t)p, pages(bytes));
    else if (flags & MAP_FIXED) region(MPF_OP_UNMAP, MPF_HEAP_NONE, (uintptr_t)p, pages(bytes));
}

/* Samples of resident memory show how much of a large mapping is used. A sandbox may reserve
 * address space and then demand that its process has one thread, so only writable mappings count.
 * Called after mapped() has returned, so that both use the same part of the stack. */
static __attribute__((noinline)) void sample_soon(const void *caller, const void *p, size_t bytes,
                                                  bool counts)
{
    if (counts && p != MAP_FAILED && bytes >= SAMPLED && !mp_real_in_allocator(caller) &&
        mp_process_is_owner() && mp_record_here())
        mp_record_want_encoder(true);
}

HOOK void *mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset)
{
    mp_real_ready();
    void *p = mp_real.mmap(at, bytes, prot, flags, fd, offset);
    mapped(CALLER, p, bytes, prot, flags, fd);
    sample_soon(CALLER, p, bytes, flags & MAP_ANONYMOUS && prot & PROT_WRITE);
    return p;
}

HOOK void *mmap64(void *at, size_t bytes, int prot, int flags, int fd, off64_t offset)
{
    mp_real_ready();
    void *p = mp_real.mmap64(at, bytes, prot, flags, fd, offset);
    mapped(CALLER, p, bytes, prot, flags, fd);
    sample_soon(CALLER, p, bytes, flags & MAP_ANONYMOUS && prot & PROT_WRITE);
    return p;
}

/* Recorded before the call, like a free. The kernel only refuses ranges that are not page-aligned
 * or empty. */
HOOK int munmap(void *at, size_t bytes)
{
    mp_real_ready();
    if (bytes && (uintptr_t)at % mp_sys_page() == 0 && !mp_real_in_allocator(CALLER))
        region(MPF_OP_UNMAP, MPF_HEAP_NONE, (uintptr_t)at, pages(bytes));
    return mp_real.munmap(at, bytes);
}

/* Called as a variadic function, with `to` if flags has MREMAP_FIXED. A variadic definition would
 * save all registers on a stack that may be small. */
HOOK void *mp_hook_mremap(void *old, size_t old_bytes, size_t bytes, int flags,
                          void *to) __asm__("mremap");
void *mp_hook_mremap(void *old, size_t old_bytes, size_t bytes, int flags, void *to)
{
    void *const at = flags & MREMAP_FIXED ? to : NULL;
    mp_real_ready();
    const bool record = !mp_real_in_allocator(CALLER);
    if (record) mp_record(MPF_OP_REMAP_FROM, MPF_HEAP_NONE, (uintptr_t)old, pages(old_bytes));
    void *p = mp_real.mremap(old, old_bytes, bytes, flags, at);
    if (record && p != MAP_FAILED)
        mp_record(MPF_OP_REMAP_TO, MPF_HEAP_NONE, (uintptr_t)p, pages(bytes));
    else if (record) mp_record_fail(MPF_HEAP_MMAP, errno, bytes);
    return p;
}

HOOK int mprotect(void *at, size_t bytes, int prot)
{
    mp_real_ready();
    const int result = mp_real.mprotect(at, bytes, prot);
    if (result == 0 && bytes && !mp_real_in_allocator(CALLER))
        region(prot & PROT_WRITE ? MPF_OP_PROTECT_RW : MPF_OP_PROTECT_NONE, MPF_HEAP_NONE,
               (uintptr_t)at, pages(bytes));
    return result;
}

/* ---- System V segments */

HOOK void *shmat(int id, const void *at, int flags)
{
    mp_real_ready();
    void *p = mp_real.shmat(id, at, flags);
    struct shmid_ds info;
    if (p != (void *)-1 && !(flags & SHM_RDONLY) &&
        mp_sys3(SYS_shmctl, id, IPC_STAT, (long)&info) >= 0)
        region(MPF_OP_MAP, MPF_HEAP_SHM, (uintptr_t)p, pages(info.shm_segsz));
    return p;
}

/* Size 0: the whole mapping that begins there. */
HOOK int shmdt(const void *at)
{
    mp_real_ready();
    mp_record(MPF_OP_UNMAP, MPF_HEAP_SHM, (uintptr_t)at, 0);
    return mp_real.shmdt(at);
}
