/* Lifetimes of freed blocks, ages of live blocks, and the owners of blocks that were freed soon
 * after their allocation: the result of `memprof-report temporary`. */
#ifndef MPR_LIFETIMES_H
#define MPR_LIFETIMES_H

#include "peaks.h"

struct mpr_lifetime_histogram;
struct mpr_projection;

/* Class 0 has lifetimes of 0 ns, class n those of at least 2^(n-1) ns and less than 2^n. */
enum { MPR_LIFETIME_CLASSES = 48 };

/* The lifetimes of some blocks. */
struct mpr_lifetime_stats {
    uint64_t blocks, bytes; /* all allocated blocks */
    uint64_t freed, soon;   /* freed blocks; those that lived at most the requested time */
    uint64_t soon_bytes;
    uint64_t life[MPR_LIFETIME_CLASSES]; /* freed blocks by class */
};

/* Returns the lifetimes of a cell's blocks. */
struct mpr_lifetime_stats mpr_lifetime_stats_of(const struct mpr_lifetime_histogram *lifetimes,
                                                uint32_t cell);
void mpr_lifetime_stats_add(struct mpr_lifetime_stats *sum, const struct mpr_lifetime_stats *other);
/* Returns the median lifetime of freed blocks in ns, or MPR_LIFETIME_UNKNOWN if none was freed.
 * It is the middle of a class, so its error is at most a third. */
#define MPR_LIFETIME_UNKNOWN UINT64_MAX
uint64_t mpr_lifetime_stats_median(const struct mpr_lifetime_stats *stats);

/* The allocation times of blocks that were live at an instant. */
struct mpr_ages {
    uint64_t *made; /* ns since the process's start, oldest first */
    size_t blocks;  /* 0 for memory that is counted by pages */
};
/* The blocks of @cell belong to element @of of a list of ages. */
struct mpr_ages_cell {
    uint32_t cell, of;
};
/* Fills @count ages with the blocks of their cells that were live at the newest mark.
 * @projection: that the cells belong to, or NULL. Takes 8 bytes a block in the arena. For this
 * layer. */
void mpr_ages_of(struct mpr_arena *arena, const struct mpr_lifetime_histogram *lifetimes,
                 const struct mpr_projection *projection, const struct mpr_ages_cell *cell,
                 size_t cells, struct mpr_ages *ages, size_t count);
/* Returns all times of @count ages together, in the arena. */
struct mpr_ages mpr_ages_join(struct mpr_arena *arena, const struct mpr_ages *ages, size_t count);
/* Returns the median time. There must be a block. */
static inline uint64_t mpr_ages_median(const struct mpr_ages *ages)
{
    return ages->made[(ages->blocks - 1) / 2];
}

/* ---- blocks that were freed soon after their allocation, by owner */

struct mpr_temporary_options {
    enum mpr_group by;
    uint8_t heap;       /* MPF_HEAP_NONE: all heaps of which all blocks are recorded */
    uint64_t within_ns; /* blocks that lived at most this long are temporary */
};

/* row.bytes is the number of temporary blocks, by which lines are sorted and grouped. */
struct mpr_temporary_row {
    struct mpr_row row;
    struct mpr_lifetime_stats stats;
};

struct mpr_temporary_heap {
    uint8_t heap;
    struct mpr_lifetime_stats all;
    struct mpr_temporary_row *row; /* most temporary blocks first */
    size_t rows;
};

/* Everything in it lives until mpr_temporary_free. */
struct mpr_temporary {
    struct mpr_temporary_options options;
    struct mpr_peaks peaks;          /* summary, choice and notes of one log */
    struct mpr_temporary_heap *heap; /* heaps with blocks, most temporary blocks first */
    size_t heaps;
};

/* Reads one log.  Returns 0, or -1 with *error filled and nothing to free. */
int mpr_temporary_read(struct mpr_temporary *out, const char *path,
                       const struct mpr_temporary_options *options,
                       const struct mpr_progress *progress, struct mpr_error *error);
void mpr_temporary_free(struct mpr_temporary *out);

#endif
