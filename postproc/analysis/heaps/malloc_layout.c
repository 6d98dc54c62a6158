#include "malloc_layout.h"

#include <stddef.h>
#include <string.h>

#include "basename.h"

enum mpr_malloc mpr_malloc_of(const char *file)
{
    static const struct {
        const char *part;
        enum mpr_malloc of;
    } names[] = { { "jemalloc", MPR_MALLOC_JEMALLOC },
                  { "tcmalloc", MPR_MALLOC_TCMALLOC },
                  { "mimalloc", MPR_MALLOC_MIMALLOC },
                  { "libc.so.6", MPR_MALLOC_GLIBC },
                  { "libc-2.", MPR_MALLOC_GLIBC } };
    const char *name = mpr_basename(file);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strstr(name, names[i].part)) return names[i].of;
    return MPR_MALLOC_OTHER;
}

/* @unit: a power of two */
static uint64_t round_down(uint64_t n, uint64_t unit) { return n & ~(unit - 1); }

static uint64_t round_up(uint64_t n, uint64_t unit) { return round_down(n + unit - 1, unit); }

/* ---- glibc: a chunk has its size in the word before the block, and uses the first word of the
 * next chunk */

enum { WORD = 8, ALIGNMENT = 16, MIN_CHUNK = 32, CHUNK_HEADER = 48 };

static uint64_t chunk_bytes(uint64_t size)
{
    const uint64_t bytes = round_up(size + WORD, ALIGNMENT);
    return bytes < MIN_CHUNK ? MIN_CHUNK : bytes;
}

/* mtrim in malloc.c: pages that have the header of a free chunk stay. */
uint64_t mpr_glibc_trimmable(const struct mpr_malloc_layout *l,
                             const struct mpr_address_range *free)
{
    const uint64_t chunk = free->from - WORD, end = free->end - WORD,
                   first = round_up(chunk + CHUNK_HEADER, l->page);
    return end > first ? round_down(end - first, l->page) : 0;
}

/* On 64-bit systems the kernel maps from the top of the address space down, and a program and its
 * break are in the lower two thirds.  The space has 2^39 or 2^48 bytes on aarch64, and 2^47 on
 * x86-64. */
bool mpr_is_break(uint64_t addr)
{
    const uint64_t small = UINT64_C(1) << 39, usual = UINT64_C(1) << 47,
                   space = addr < small   ? small
                           : addr < usual ? usual
                                          : 2 * usual;
    return addr < space / 4 * 3;
}

/* ---- jemalloc and mimalloc have four sizes for each power of two, from 64 or 128 on */

static uint64_t size_class(uint64_t size)
{
    enum { LINEAR = 128 };
    if (size <= WORD) return WORD;
    if (size <= LINEAR) return round_up(size, ALIGNMENT);
    const unsigned power = 63 - (unsigned)__builtin_clzll(size - 1);
    return round_up(size, UINT64_C(1) << (power - 2));
}

/* jemalloc's sizes in slabs: the largest one is seven eighths of four pages of 4 KiB. */
enum { SLAB_MAX = 14 << 10 };

/* A slab is the smallest number of pages without a rest (slab_size in sc.c).  Only one of its pages
 * is a multiple of the size away from the block. */
static struct mpr_address_range slab_of(const struct mpr_malloc_layout *l, uint64_t addr,
                                        uint64_t each)
{
    uint64_t bytes = l->page, from = round_down(addr, l->page);
    while (bytes % each) bytes += l->page;
    for (uint64_t i = 0; i < bytes && (addr - from) % each; i += l->page) from -= l->page;
    if ((addr - from) % each) from = round_down(addr, l->page); /* an aligned block */
    return (struct mpr_address_range){ from, from + bytes };
}

/* mimalloc's pages: 64 KiB for blocks of up to 8 KiB, 512 KiB for blocks of up to 64 KiB. */
enum { SMALL_MAX = 8 << 10, SMALL_PAGE = 64 << 10, MEDIUM_MAX = 64 << 10, MEDIUM_PAGE = 512 << 10 };

enum { TCMALLOC_PAGE = 8 << 10 };

/* ---- all */

struct mpr_address_range mpr_malloc_footprint(const struct mpr_malloc_layout *l, uint64_t addr,
                                              uint64_t size, bool mapped)
{
    const uint64_t page = round_down(addr, l->page);
    if (mapped)
        return (struct mpr_address_range){ page, page + round_up(addr - page + size, l->page) };
    switch (l->of) {
    case MPR_MALLOC_GLIBC:
        return (struct mpr_address_range){ addr - WORD, addr - WORD + chunk_bytes(size) };
    case MPR_MALLOC_JEMALLOC:
        if (size <= SLAB_MAX) return (struct mpr_address_range){ addr, addr + size_class(size) };
        /* a random offset in the first page, and a page for it */
        return (struct mpr_address_range){ page,
                                           page + round_up(size_class(size), l->page) + l->page };
    case MPR_MALLOC_MIMALLOC: return (struct mpr_address_range){ addr, addr + size_class(size) };
    default: return (struct mpr_address_range){ addr, addr + round_up(size ? size : 1, WORD) };
    }
}

struct mpr_address_range mpr_malloc_unit(const struct mpr_malloc_layout *l, uint64_t addr,
                                         uint64_t size, uint64_t at)
{
    uint64_t bytes = l->page;
    if (l->of == MPR_MALLOC_JEMALLOC && size <= SLAB_MAX) return slab_of(l, addr, size_class(size));
    if (l->of == MPR_MALLOC_TCMALLOC) bytes = TCMALLOC_PAGE;
    if (l->of == MPR_MALLOC_MIMALLOC && size <= MEDIUM_MAX)
        bytes = size <= SMALL_MAX ? SMALL_PAGE : MEDIUM_PAGE;
    const uint64_t from = round_down(at, bytes);
    return (struct mpr_address_range){ from, from + bytes };
}
