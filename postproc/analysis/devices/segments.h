/* PyTorch's segments at one instant: their blocks, their holes, and what pins them.  The result
 * behind `memprof-report segments`.  Lives until mpr_segments_free. */
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

/* Which instant. */
enum mpr_segments_at {
    MPR_SEGMENTS_AT_PEAK, /* each device's own */
    MPR_SEGMENTS_AT_OOM,  /* the newest lack of memory that PyTorch did not get over, of its device
                           */
    MPR_SEGMENTS_AT_TIME,
    MPR_SEGMENTS_AT_WORST /* at the lack of memory where there is one, else at the peaks; a result
                             says which */
};

struct mpr_segments_options {
    enum mpr_segments_at which;
    struct mpr_instant at;
};

enum mpr_segment_state {
    MPR_SEGMENT_SPLIT, /* something in it is live */
    MPR_SEGMENT_IDLE,  /* nothing is: PyTorch could give it back */
    MPR_SEGMENT_GRAPH  /* made while a graph was captured: its memory pool holds it */
};

struct mpr_segment {
    uint64_t addr, bytes, live, free, largest_hole, blocks;
    uint64_t idle;    /* of free: what PyTorch could give back, pieces that hold nothing */
    uint64_t time;    /* ns, made; of several pieces the first */
    uint64_t pool[2]; /* of a graph, as PyTorch numbers it; zeros: not known, or no graph's */
    uint32_t capture; /* from 1; 0: none */
    enum mpr_segment_state state;
    bool expandable;        /* pieces of physical memory in a row */
    struct mpr_path oldest; /* the oldest block's; frame is NULL if no block is live */
    uint64_t oldest_time;
};

/* Segments of one pool: PyTorch's default ones, or a graph's. */
struct mpr_segment_pool {
    uint64_t pool[2], segments, bytes, live, free, largest_hole;
    bool graph;
};

/* A split segment, and its free bytes that live blocks pin. */
struct mpr_pinned {
    uint64_t segment, free;
};

/* Blocks of one path that lie in split segments with free bytes. */
struct mpr_segment_pin {
    struct mpr_path path; /* ranges, or the Python stack where there were none;
                           * outermost first
                           */
    uint64_t blocks, bytes, segments;
    uint64_t free; /* that is split in the segments that they lie in: several paths may pin the
                      same bytes */
    uint64_t oldest_time;
    const struct mpr_pinned *in; /* those segments, by address */
};

struct mpr_segments_device {
    unsigned index;
    const char *name;
    uint64_t time;               /* ns, of the instant */
    struct mpr_segment *segment; /* by free bytes, largest first */
    size_t segments;
    struct mpr_segment_pool *pool; /* by bytes */
    size_t pools;
    struct mpr_segment_pin *pin; /* by free bytes */
    size_t pins;
    uint64_t bytes, live, split_free, idle, graph_free, largest_hole;
    uint64_t asleep, asleep_blocks;   /* live, their segments unmapped below them */
    uint64_t outside, outside_blocks; /* live in no segment that was seen */
};

struct mpr_segments {
    struct mpr_segments_options options;
    struct mpr_arena arena;
    struct mpr_summary summary;
    struct mpr_segments_device *device; /* those that PyTorch has segments on */
    size_t devices;
};

struct mpr_reader;

struct mpr_picture;

/* Of the picture's device, of a log that was read. */
void mpr_segments_fill_picture(struct mpr_segments *segments, const struct mpr_reader *reader,
                               const struct mpr_picture *picture);
/* At each device's peak. */
void mpr_segments_fill(struct mpr_segments *segments, const struct mpr_reader *reader);
/* Of the device that memory ran out on, at that instant; of the others at their peaks. */
void mpr_segments_fill_worst(struct mpr_segments *segments, const struct mpr_reader *reader);
/* That device only; false: it did not, or the program got over it. */
bool mpr_segments_fill_oom(struct mpr_segments *segments, const struct mpr_reader *reader);
/* 0, or -1 with *error filled (nothing to free then). */
int mpr_segments_read(struct mpr_segments *segments, const char *path,
                      const struct mpr_segments_options *options,
                      const struct mpr_progress *progress, struct mpr_error *error);
void mpr_segments_free(struct mpr_segments *segments);

#endif
