/* PyTorch's segments at one instant: their blocks, their holes, and the live blocks that pin
 * them.
 *
 * The result of `memprof-report segments`, and part of others. It lives until mpr_segments_free.
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
    MPR_SEGMENTS_AT_PEAK, /* each device at its peak */
    MPR_SEGMENTS_AT_OOM,  /* the device of the newest out-of-memory event from which PyTorch did not
                             recover */
    MPR_SEGMENTS_AT_TIME,
    MPR_SEGMENTS_AT_WORST /* AT_OOM if there was one, otherwise AT_PEAK; one of these in results */
};

struct mpr_segments_options {
    enum mpr_segments_at which;
    struct mpr_instant at;
};

enum mpr_segment_state {
    MPR_SEGMENT_SPLIT, /* it has a live block */
    MPR_SEGMENT_IDLE,  /* it has no live block: PyTorch could release it */
    MPR_SEGMENT_GRAPH  /* it belongs to a graph's pool */
};

struct mpr_segment {
    uint64_t addr, bytes, live, free, largest_hole, blocks;
    uint64_t idle; /* the part of `free` that PyTorch could release: pieces without live blocks */
    uint64_t time; /* allocation of the segment, or of its first piece */
    uint64_t pool[2]; /* PyTorch's id of a graph's pool, or zeros */
    uint32_t capture; /* number of the capture, from 1, or 0 */
    enum mpr_segment_state state;
    bool expandable;        /* it consists of pieces that are mapped one after the other */
    struct mpr_path oldest; /* of the oldest live block; its frame is NULL without one */
    uint64_t oldest_time;
};

/* Segments of one pool: PyTorch's default pool, or a graph's. */
struct mpr_segment_pool {
    uint64_t pool[2], segments, bytes, live, free, largest_hole;
    bool graph;
};

/* A split segment, and its free bytes, which live blocks pin. */
struct mpr_pinned {
    uint64_t segment, free;
};

/* The blocks of one path that are in split segments with free bytes. */
struct mpr_segment_pin {
    struct mpr_path path; /* ranges, or the Python stack if there were none; outermost first */
    uint64_t blocks, bytes, segments;
    uint64_t free; /* free bytes of these segments; several paths may pin the same bytes */
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
    uint64_t asleep, asleep_blocks;   /* live blocks whose segments were unmapped (sleep mode) */
    uint64_t outside, outside_blocks; /* live blocks outside of all recorded segments */
};

struct mpr_segments {
    struct mpr_segments_options options;
    struct mpr_arena arena;
    struct mpr_summary summary;
    struct mpr_segments_device *device; /* devices with PyTorch's segments */
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
    const struct mpr_segment *oldest; /* the segment with the oldest live block */
    uint64_t segments, bytes, free, blocks;
    uint64_t paths; /* number of different paths of their oldest live blocks */
};

/* Returns the groups, most free bytes first, in the arena. @separate: each segment is a group. */
struct mpr_segment_group *mpr_segment_group(struct mpr_arena *arena,
                                            const struct mpr_segment *segment, size_t segments,
                                            bool separate, size_t *groups);

/* ---- segments of a log that was read; for analyses */

/* Fills all devices at their peaks. @oom: shown instead of the peak of its device, or NULL. */
void mpr_segments_fill(struct mpr_segments *segments, const struct mpr_reader *reader,
                       const struct mpr_oom *oom);
/* Fills only the device that ran out of memory, at that instant. Returns false if no device ran
 * out of memory, or if the program recovered. */
bool mpr_segments_fill_oom(struct mpr_segments *segments, const struct mpr_reader *reader);

/* Segments of one device at one of several instants. */
struct mpr_segments_instant {
    struct mpr_segments segments;
    uint64_t since; /* nothing changed from the events at `since` to the instant */
    size_t number;  /* number among the instants that are spread over the run, from 1, or 0 for an
                       instant that is never dropped, because the page has a link to it */
};

/* Segments at several instants, in bounded memory. Initialize `most`, and the other members to
 * 0. */
struct mpr_segments_series {
    size_t most;         /* limit of the segments of all instants together */
    size_t rows, stride; /* segments so far; each stride-th of the spread instants is kept */
    struct mpr_segments_instant *at; /* by device; the spread ones in order of time */
    size_t count, cap;
};

/* Adds a snapshot. If there are too many segments, drops every second spread instant. */
void mpr_segments_series_add(struct mpr_segments_series *kept, const struct mpr_reader *reader,
                             const struct mpr_device_snapshot *snapshot, uint64_t since,
                             size_t number);
void mpr_segments_series_free(struct mpr_segments_series *kept);

/* ---- a walk over the segments in a snapshot, by address; for analyses */

/* A segment. Consecutive pieces of an expandable segment are one segment. PyTorch can release
 * each piece without live blocks (unmap_block in c10/cuda/CUDACachingAllocator.cpp), but other
 * segments only as a whole. */
struct mpr_walked_segment {
    const struct mpr_gpu_block *piece; /* the first piece; only expandable segments have several */
    size_t pieces;
    bool expandable;
    uint64_t bytes, live, blocks; /* blocks: live ones that begin in it */
    uint64_t idle;                /* bytes of pieces without live blocks */
    uint64_t hole, split_hole;    /* the largest hole, and the largest outside of idle pieces */
    const struct mpr_gpu_block *oldest; /* the oldest live block, or NULL */
    size_t from, to;                    /* its live blocks: indices in the snapshot */
};

/* Initialize the first two members, and the others to 0. */
struct mpr_segment_walk {
    const struct mpr_sites *sites;
    const struct mpr_device_snapshot *snapshot;
    size_t driver, torch;
};

/* Sets *segment to the next segment. Returns false after the last one. */
bool mpr_segment_walk_next(struct mpr_segment_walk *walk, struct mpr_walked_segment *segment);
/* Returns true if the driver's block is one of PyTorch's segments, or a piece of one. */
bool mpr_is_torch_segment(const struct mpr_device_snapshot *p, const struct mpr_gpu_block *block);
/* Returns true if memory that the library maps is a piece of an expandable segment. PyTorch maps
 * pieces to let a segment grow; a plug-in maps a whole segment at once. */
bool mpr_segment_expands(const struct mpr_sites *sites, uint32_t library);

#endif
