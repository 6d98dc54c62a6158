/* The pages of malloc: free bytes between the live blocks of host/heap at one instant, and
 * the blocks without which their pages could be given back.
 *
 * A result of `memprof-report segments`.  It lives until
 * mpr_occupancy_free.  It comes from the addresses and sizes of the live blocks, so it needs a log
 * with every block.  Times are ns since the process's start. */
#ifndef MPR_OCCUPANCY_H
#define MPR_OCCUPANCY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame.h"
#include "instant.h"
#include "malloc_layout.h"
#include "progress.h"
#include "row.h"
#include "summary.h"

struct mpr_error;

/* The instant. */
enum mpr_occupancy_at {
    MPR_OCCUPANCY_AT_KEPT, /* when malloc kept most of what was freed, else AT_PEAK; a result has
                            * that instead */
    MPR_OCCUPANCY_AT_PEAK,
    MPR_OCCUPANCY_AT_TIME
};

struct mpr_occupancy_options {
    enum mpr_occupancy_at which;
    struct mpr_instant at;
    enum mpr_group by;
    const struct mpr_choice *choice; /* the grouping for AUTO, if it is known, or NULL */
    bool instead;                    /* for a log without segments of PyTorch */
};

/* Why a log cannot show the pages. */
enum mpr_occupancy_gap {
    MPR_OCCUPANCY_KNOWN,
    MPR_OCCUPANCY_NO_BLOCKS, /* no block of malloc was recorded */
    MPR_OCCUPANCY_PART,      /* only some blocks were recorded: --host=sample, large or off */
    MPR_OCCUPANCY_THINNED    /* blocks of the log's thinned part have no addresses */
};

/* Parts of the address space. */
enum mpr_occupancy_kind {
    MPR_OCCUPANCY_BREAK,  /* glibc's main heap, by brk */
    MPR_OCCUPANCY_HEAP,   /* a heap of another arena of glibc */
    MPR_OCCUPANCY_MAPPED, /* all blocks that glibc obtained from the kernel one by one */
    MPR_OCCUPANCY_REGION  /* 64 MiB of addresses of another allocator */
};

/* Bytes by use. */
struct mpr_occupancy_bytes {
    uint64_t blocks, live; /* live: as requested, or usable bytes if the log has these */
    uint64_t overhead;     /* headers and rounding */
    uint64_t pinned;       /* free, in pages of live blocks */
    uint64_t free;         /* glibc: free pages between live blocks, which malloc_trim returns */
};

struct mpr_occupancy_heap {
    enum mpr_occupancy_kind kind;
    uint64_t addr, bytes; /* from its first byte in use to the end of its last live block */
    struct mpr_occupancy_bytes sum;
};

/* Live blocks of one path.  The free bytes of a page belong to its live blocks in equal parts. */
struct mpr_occupancy_pin {
    struct mpr_row row;   /* path, live bytes, blocks */
    uint64_t pinned;      /* free bytes in their pages */
    uint64_t oldest_time; /* when the oldest block was allocated */
};

/* Figures of the kernel and of jemalloc at about the instant; MPF_UNKNOWN if they are not known. */
struct mpr_occupancy_measured {
    uint64_t private;   /* private memory without stacks, static data, memprof and mappings of the
                         * program: the bytes that malloc can have */
    uint64_t mappings;  /* resident part of the program's mappings */
    uint64_t untouched; /* part of the live blocks that is not resident */
    uint64_t top;       /* glibc: the part of private that can be free memory above the last live
                         * block of a heap */
    uint64_t returned;  /* free pages between blocks that are not resident, because the program has
                         * called malloc_trim; 0 if private is not known */
    int64_t unknown;    /* the part of private that is none of these */
    uint64_t time;
    uint64_t active, allocated, resident; /* of jemalloc */
};

struct mpr_occupancy {
    struct mpr_occupancy_options options;
    struct mpr_arena arena;
    struct mpr_summary summary;
    struct mpr_choice choice;
    enum mpr_occupancy_gap gap; /* the other members below need KNOWN */
    uint64_t time;
    enum mpr_malloc allocator;
    struct mpr_occupancy_bytes sum;
    uint64_t pages, page_bytes; /* pages of live blocks */
    uint64_t huge_pages;        /* ranges of 2 MiB that have live blocks */
    uint64_t samples;           /* blocks with sampled call stacks, by which owners are estimated */
    struct mpr_occupancy_measured measured;
    struct mpr_occupancy_heap *heap; /* by pinned and free bytes, largest first */
    size_t heaps;
    struct mpr_occupancy_pin *pin; /* by pinned bytes */
    size_t pins;
};

/* Reads one log, once if the options have a settled time and the grouping, else twice.  If it is
 * read once, the summary may lack the end of the log.  Returns 0, or -1 with *error filled and
 * nothing to free. */
int mpr_occupancy_read(struct mpr_occupancy *occupancy, const char *path,
                       const struct mpr_occupancy_options *options,
                       const struct mpr_progress *progress, struct mpr_error *error);
void mpr_occupancy_free(struct mpr_occupancy *occupancy);

#endif
