/* The addresses that a block of malloc occupies, and the pages that its allocator can give back
 * only as a whole, as far as the block's address and size show them. */
#ifndef MPR_MALLOC_LAYOUT_H
#define MPR_MALLOC_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

enum mpr_malloc {
    MPR_MALLOC_OTHER, /* pages of the machine */
    MPR_MALLOC_GLIBC,
    MPR_MALLOC_JEMALLOC, /* slabs of blocks of one size; extents for large blocks */
    MPR_MALLOC_TCMALLOC, /* pages of 8 KiB, which its spans consist of */
    MPR_MALLOC_MIMALLOC  /* its pages, of 64 KiB for small blocks */
};

/* Returns the allocator that the file provides.  @file: its path, or "" */
enum mpr_malloc mpr_malloc_of(const char *file);

struct mpr_malloc_layout {
    enum mpr_malloc of;
    uint64_t page; /* bytes of a page of the machine */
};

/* Addresses from the first byte up to the end. */
struct mpr_address_range {
    uint64_t from, end;
};

/* glibc obtains blocks of at least this size from the kernel one by one, at first; it may raise
 * this threshold up to 32 MiB. */
enum { MPR_GLIBC_MAPPED_BYTES = 128 << 10 };
/* The heaps of glibc's arenas begin at multiples of this, and have at most this size.  The main
 * arena has the program's break instead, and others only if the program has threads. */
#define MPR_GLIBC_HEAP_BYTES (UINT64_C(64) << 20)

/* Returns the addresses that the allocator uses for the block: its header, and its bytes after
 * rounding.
 * @mapped: glibc obtained it from the kernel */
struct mpr_address_range mpr_malloc_footprint(const struct mpr_malloc_layout *layout, uint64_t addr,
                                              uint64_t size, bool mapped);
/* Returns the pages around the address @at of the block's footprint that the allocator keeps while
 * the block is live. */
struct mpr_address_range mpr_malloc_unit(const struct mpr_malloc_layout *layout, uint64_t addr,
                                         uint64_t size, uint64_t at);
/* Returns how many bytes malloc_trim returns to the kernel of a free range between two of glibc's
 * blocks. */
uint64_t mpr_glibc_trimmable(const struct mpr_malloc_layout *layout,
                             const struct mpr_address_range *free);
/* Returns true if the address belongs to the program's break, which is below the mappings. */
bool mpr_is_break(uint64_t addr);

#endif
