/* How long blocks lived: their lifetimes, the ages of live blocks, and the owners of blocks that
 * were freed soon, which are the result of `memprof-report temporary`. */
#ifndef MPR_LIFETIMES_H
#define MPR_LIFETIMES_H

#include "peaks.h"

struct mpr_lifetime_histogram;
struct mpr_projection;

/* Class n of lifetimes: at least 2^(n-1) ns and less than 2^n; class 0: 0 ns. */
enum { MPR_LIFETIME_CLASSES = 48 };

/* The lifetimes of some blocks. */
struct mpr_lifetime_stats {
    uint64_t blocks, bytes; /* all that were allocated */
    uint64_t freed, soon;   /* blocks; soon: freed within the requested time */
    uint64_t soon_bytes;
    uint64_t life[MPR_LIFETIME_CLASSES]; /* freed blocks by class */
};

/* Returns the lifetimes of a cell's blocks. */
struct mpr_lifetime_stats mpr_lifetime_stats_of(const struct mpr_lifetime_histogram *lasting,
                                                uint32_t cell);
void mpr_lifetime_stats_add(struct mpr_lifetime_stats *sum, const struct mpr_lifetime_stats *other);
/* Returns the middle of the class with the median lifetime of freed blocks, in ns, or
 * MPR_LIFETIME_UNKNOWN if no block was freed.  It is off by a third at most. */
#define MPR_LIFETIME_UNKNOWN UINT64_MAX
uint64_t mpr_lifetime_stats_median(const struct mpr_lifetime_stats *tally);

/* The times at which blocks that lived at an instant were allocated: exact, block by block. */
struct mpr_ages {
    uint64_t *made; /* ns since the process's start, the oldest block's first */
    size_t blocks;  /* 0: no blocks, or memory that is counted by pages */
};
/* The blocks of @cell are in element @of of a list of ages. */
struct mpr_ages_cell {
    uint32_t cell, of;
};
/* Fills @count ages with the blocks that lived at the newest mark, those of different cells.
 * @projection: of these cells, or NULL.  Takes 8 bytes a block in the arena.  For this layer. */
void mpr_ages_of(struct mpr_arena *arena, const struct mpr_lifetime_histogram *lasting,
                 const struct mpr_projection *projection, const struct mpr_ages_cell *cell,
                 size_t cells, struct mpr_ages *ages, size_t count);
/* Returns the ages of the blocks of @count cells, in the arena. */
struct mpr_ages mpr_ages_join(struct mpr_arena *arena, const struct mpr_ages *ages, size_t count);
/* Returns the time such that half of the blocks, at least one, were allocated then or earlier. */
static inline uint64_t mpr_ages_median(const struct mpr_ages *ages)
{
    return ages->made[(ages->blocks - 1) / 2];
}

/* ---- blocks that were freed soon after their allocation, by owner */

struct mpr_temporary_options {
    enum mpr_group by;
    uint8_t heap;       /* MPF_HEAP_NONE: all whose blocks are recorded, not sampled */
    uint64_t within_ns; /* blocks that lived no longer are temporary */
};

/* row.bytes is the number of temporary blocks: lines are ranked and grouped by it. */
struct mpr_temporary_row {
    struct mpr_row row;
    struct mpr_lifetime_stats tally;
};

struct mpr_temporary_heap {
    uint8_t heap;
    struct mpr_lifetime_stats all;
    struct mpr_temporary_row *row; /* by temporary blocks, most first */
    size_t rows;
};

/* Everything in it lives until mpr_temporary_free. */
struct mpr_temporary {
    struct mpr_temporary_options options;
    struct mpr_peaks peaks;          /* one log: its summary, choice and notes */
    struct mpr_temporary_heap *heap; /* those with blocks, by temporary blocks */
    size_t heaps;
};

/* Reads one log.  Returns 0, or -1 with *error filled and nothing to free. */
int mpr_temporary_read(struct mpr_temporary *out, const char *path,
                       const struct mpr_temporary_options *options,
                       const struct mpr_progress *progress, struct mpr_error *error);
void mpr_temporary_free(struct mpr_temporary *out);

#endif
