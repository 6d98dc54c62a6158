/* PyTorch's segments at one instant: their blocks, their holes, and the blocks that pin them.
 *
 * A result of `memprof-report segments`, and part of others.  It lives until mpr_segments_free.
 * Times are ns since the process's start. */
#ifndef MPR_SEGMENTS_H
#define MPR_SEGMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame.h"
#include "instant.h"
#include "progress.h"
#include "summary.h"

struct mpr_error;
struct mpr_gpu_block;
struct mpr_device_snapshot;
struct mpr_oom;
struct mpr_reader;
struct mpr_sites;

/* The instant. */
enum mpr_segments_at {
    MPR_SEGMENTS_AT_PEAK, /* each device's own */
    MPR_SEGMENTS_AT_OOM,  /* the newest out-of-memory event that PyTorch did not recover from; only
                           * its device */
    MPR_SEGMENTS_AT_TIME,
    MPR_SEGMENTS_AT_WORST /* AT_OOM if there was one, else AT_PEAK; a result has that instead */
};

struct mpr_segments_options {
    enum mpr_segments_at which;
    struct mpr_instant at;
};

enum mpr_segment_state {
    MPR_SEGMENT_SPLIT, /* it has a live block */
    MPR_SEGMENT_IDLE,  /* it has none: PyTorch could release it */
    MPR_SEGMENT_GRAPH  /* allocated while a graph was captured: the graph's pool holds it */
};

struct mpr_segment {
    uint64_t addr, bytes, live, free, largest_hole, blocks;
    uint64_t idle;    /* of free: pieces without live blocks, which PyTorch could release */
    uint64_t time;    /* when it, or its first piece, was allocated */
    uint64_t pool[2]; /* a graph's, as PyTorch numbers it, or zeros */
    uint32_t capture; /* from 1; 0: none */
    enum mpr_segment_state state;
    bool expandable;        /* consecutive pieces of physical memory */
    struct mpr_path oldest; /* the oldest block's; frame is NULL if no block is live */
    uint64_t oldest_time;
};

/* Segments of one pool: PyTorch's default pool, or a graph's. */
struct mpr_segment_pool {
    uint64_t pool[2], segments, bytes, live, free, largest_hole;
    bool graph;
};

/* A split segment, and its free bytes that live blocks pin. */
struct mpr_pinned {
    uint64_t segment, free;
};

/* Blocks of one path in split segments with free bytes. */
struct mpr_segment_pin {
    struct mpr_path path; /* ranges, or the Python stack if there were none; outermost first */
    uint64_t blocks, bytes, segments;
    uint64_t free; /* pinned bytes of these segments; several paths may pin the same bytes */
    uint64_t oldest_time;
    const struct mpr_pinned *in; /* these segments, by address */
};

struct mpr_segments_device {
    unsigned index;
    const char *name;
    uint64_t time;               /* of the instant */
    struct mpr_segment *segment; /* by free bytes, largest first */
    size_t segments;
    struct mpr_segment_pool *pool; /* by bytes */
    size_t pools;
    struct mpr_segment_pin *pin; /* by free bytes */
    size_t pins;
    uint64_t bytes, live, split_free, idle, graph_free, largest_hole;
    uint64_t asleep, asleep_blocks;   /* live, their segments were unmapped below them */
    uint64_t outside, outside_blocks; /* live outside of all recorded segments */
};

struct mpr_segments {
    struct mpr_segments_options options;
    struct mpr_arena arena;
    struct mpr_summary summary;
    struct mpr_segments_device *device; /* those that PyTorch has segments on */
    size_t devices;
};

/* Reads one log.  Returns 0, or -1 with *error filled and nothing to free. */
int mpr_segments_read(struct mpr_segments *segments, const char *path,
                      const struct mpr_segments_options *options,
                      const struct mpr_progress *progress, struct mpr_error *error);
void mpr_segments_free(struct mpr_segments *segments);

/* ---- groups of equal segments: "599 x 20.00 MiB, hole 18.00 MiB" */

/* Segments with the same bytes, free bytes, largest hole, state and pool. */
struct mpr_segment_group {
    const struct mpr_segment *oldest; /* the one with the oldest block */
    uint64_t segments, bytes, free, blocks;
    uint64_t paths; /* different paths of their oldest live blocks */
};

/* Returns the groups, most free bytes first, in the arena.  @apart: each segment is a group. */
struct mpr_segment_group *mpr_segment_group(struct mpr_arena *arena,
                                            const struct mpr_segment *segment, size_t segments,
                                            bool apart, size_t *groups);

/* ---- segments of a log that was read; for analyses */

/* Fills all devices at their peaks.  @oom: an event that replaces the peak of its device, or NULL.
 */
void mpr_segments_fill(struct mpr_segments *segments, const struct mpr_reader *reader,
                       const struct mpr_oom *oom);
/* Fills only the device that ran out of memory, at that instant.  Returns false if no device ran
 * out of memory, or the program recovered. */
bool mpr_segments_fill_oom(struct mpr_segments *segments, const struct mpr_reader *reader);

/* Segments of one device at one of several instants. */
struct mpr_segments_instant {
    struct mpr_segments segments;
    uint64_t since; /* nothing changed from `since` (after its events) to the instant */
    size_t number;  /* from 1, among the instants that are spread over the run, or 0 if the page has
                     * a link to this instant, so that it is never dropped */
};

/* Segments at several instants, in bounded memory.  Set `most`, and zero the others. */
struct mpr_segments_series {
    size_t most;         /* segments of all instants together, at most */
    size_t rows, stride; /* how many there are; each stride-th of the spread instants is kept */
    struct mpr_segments_instant *at; /* by device, the spread ones in order of time */
    size_t count, cap;
};

/* Adds the snapshot.  If there are too many segments, drops every second spread instant. */
void mpr_segments_series_add(struct mpr_segments_series *kept, const struct mpr_reader *reader,
                             const struct mpr_device_snapshot *snapshot, uint64_t since,
                             size_t number);
void mpr_segments_series_free(struct mpr_segments_series *kept);

/* ---- a walk over the segments in a snapshot, by address; for analyses */

/* A segment.  Consecutive pieces of an expandable segment are one.  PyTorch releases a piece
 * without live blocks, wherever it is in the segment (unmap_block in
 * c10/cuda/CUDACachingAllocator.cpp); other segments it releases as a whole. */
struct mpr_walked_segment {
    const struct mpr_gpu_block *piece; /* the first; a segment that is not expandable has one */
    size_t pieces;
    bool expandable;
    uint64_t bytes, live, blocks;       /* blocks: that begin in it */
    uint64_t idle;                      /* bytes of pieces without live blocks */
    uint64_t hole, split_hole;          /* the largest hole; the largest outside of idle pieces */
    const struct mpr_gpu_block *oldest; /* live block in it, or NULL */
    size_t from, to;                    /* the live blocks in it: indices of the snapshot's */
};

/* Set the first two members, and zero the others. */
struct mpr_segment_walk {
    const struct mpr_sites *sites;
    const struct mpr_device_snapshot *snapshot;
    size_t driver, torch;
};

/* Fills the next segment.  Returns false after the last one. */
bool mpr_segment_walk_next(struct mpr_segment_walk *walk, struct mpr_walked_segment *segment);
/* Returns true if the driver's block is one of PyTorch's segments, or a piece of one. */
bool mpr_is_torch_segment(const struct mpr_device_snapshot *p, const struct mpr_gpu_block *block);
/* Returns true if memory that the library maps is a piece of an expandable segment: PyTorch maps
 * memory to let a segment grow, but a plug-in maps a whole segment at once. */
bool mpr_segment_expands(const struct mpr_sites *sites, uint32_t library);

#endif
