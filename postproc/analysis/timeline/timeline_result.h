/* Who held how many bytes when.  timeline.h makes it, and bands.c, annotations.c and others fill
 * their parts of it: this header is theirs and timeline.h's.
 *
 * Everything in it lives until mpr_timeline_free.  Bytes are requested bytes; times are ns since
 * the process's start. A heap's bands sum to its bytes at every instant that is stored, and one of
 * these is the peak. */
#ifndef MPR_TIMELINE_RESULT_H
#define MPR_TIMELINE_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "accounts.h"
#include "arena.h"
#include "heap_names.h"
#include "instance_heap.h"
#include "row.h"
#include "segments.h"
#include "segments_kept.h"
#include "summary.h"

struct mpr_naming;
struct mpr_heap_lines;
struct mpr_line;

struct mpr_timeline_options {
    enum mpr_group by;
    uint8_t heap;      /* only this one; MPF_HEAP_NONE: all */
    uint64_t from, to; /* ns */
    size_t buckets;    /* of a heap at most */
    size_t bands;      /* of a heap at most: the largest, and one for the rest */
    size_t changes;    /* of a heap at most */
    size_t lifetimes;  /* blocks of a heap at most, by MPR_GROUP_ALL */
    size_t flows;      /* of a heap at most: which bands' blocks came and went when */
    size_t boxes;      /* of the lanes of ranges at most, by MPR_GROUP_ALL */
    size_t instants;   /* of a device's account, spread over the run; an even number */
    size_t segments;   /* of all instants that they are kept of, by MPR_GROUP_ALL */
    size_t exact;     /* changes on either side of a peak, a failure, a graph, each kept; a power of
                         two, or 0 */
    bool backward_of; /* PyTorch's backward ranges stand below their forward operators' */
    const struct mpr_naming *naming; /* of lines, by MPR_GROUP_ALL */
};

/* These two lists give the page's, too (viewer/columns.mjs).  ONE: exactly what its labels say.
 * SMALL: of that range (or Python stack) and library, what has no band of its own.  FOLD: of
 * those that are one line (heap_lines.h) with them.  OTHER: everything that has none. */
#define MPR_BAND_KINDS(X) X(ONE) X(SMALL) X(FOLD) X(OTHER)
/* What a page can stack by; before SIZE what the reports tell, and fold to lines. */
#define MPR_PAGE_VIEWS(X) X(AUTO) X(RANGE) X(PYTHON) X(STACK) X(THREAD) X(SIZE) X(LIBRARY)

#define X(name) MPR_BAND_##name,
enum mpr_band_kind { MPR_BAND_KINDS(X) };
#undef X
#define X(name) MPR_VIEW_##name,
enum mpr_view { MPR_PAGE_VIEWS(X) MPR_VIEWS, MPR_TOLD_VIEWS = MPR_VIEW_SIZE };
#undef X

struct mpr_band {
    enum mpr_band_kind kind;
    struct mpr_path path;                  /* by thread, size, ...: one label */
    uint32_t node, thread, class, library; /* by MPR_GROUP_ALL: numbers */
    uint32_t native, python; /* call stacks; of MPR_BAND_SMALL only Python's, where there is no
                                range; of MPR_BAND_FOLD those of one of them */
    uint64_t largest;        /* bytes in any vector */
    bool at_least;           /* sampled blocks as they are: more of its name lies in another band */
    /* by MPR_GROUP_ALL: is there more of its name in bands that do not say so?  Bit 0: of the whole
     * path; above it: of the path's first so many names. */
    uint32_t piece[MPR_VIEWS];
};

/* An interval of width_ns, or as long as nothing changes; in an excerpt one instant, beside it a
 * piece of such an interval. */
struct mpr_span {
    uint64_t start;
    uint64_t time; /* of the maximum */
    uint64_t max, min, close;
    uint64_t allocs, frees;
    size_t end; /* of its part of `change`: what differs from the vector of the span before */
};
/* From here to before there every instant has its span. */
struct mpr_exact {
    uint64_t from, to; /* UINT64_MAX: to the end */
};
struct mpr_band_change {
    uint32_t band;
    uint64_t bytes;
};

/* A range path: its parent's number and its innermost name.  Number 0 is the empty path. */
struct mpr_tree_node {
    uint32_t parent;
    const struct mpr_frame *frame;
};

enum mpr_mark_kind {
    MPR_MARK_NVTX,
    MPR_MARK_FAILED,  /* an allocation of the host failed */
    MPR_MARK_REFUSED, /* the driver had no memory; who asked may have tried again */
    MPR_MARK_OOM,     /* PyTorch gave up */
    MPR_MARK_GRAPH,   /* a CUDA graph was captured or instantiated */
};

struct mpr_mark {
    enum mpr_mark_kind kind;
    uint64_t time;
    uint64_t bytes;      /* asked for */
    uint64_t free_bytes; /* of the device then; UINT64_MAX: not known */
    /* As `graphs` has it */
    struct {
        bool instantiated;
        uint64_t nodes, segment_bytes;
        int64_t executable_bytes, launch_bytes, bytes;
    } graph;
    uint32_t node, thread;
    uint8_t heap;     /* MPF_HEAP_NONE: none */
    const char *text; /* of MPR_MARK_NVTX */
};

/* One time that a range was open. */
struct mpr_range_instance {
    uint64_t from, to;
    uint32_t node, thread;
};

/* A range in its lane, or `count` of them in a row that are too short to stand apart: from the
 * first one's beginning to the last one's end, and the first one's name. */
struct mpr_lane_box {
    uint64_t from, to, count;
    uint64_t number; /* the first one's, where the program does not number them; 0: none */
    uint32_t node, thread;
    bool outer; /* of the outermost range that repeats */
    bool mixed; /* some of them are of other names, numbers aside */
};

/* Figures of the kernel and the driver over time. */
enum { MPR_TRACK_RSS, MPR_TRACK_CGROUP, MPR_TRACK_GPU, MPR_TRACKS = MPR_TRACK_GPU + 16 };
struct mpr_track_point {
    uint64_t time, value;
};
struct mpr_track_line {
    struct mpr_track_point *point;
    size_t points;
    uint64_t limit; /* 0: none */
};

/* One block, from its allocation to its free. */
struct mpr_lifetime {
    uint64_t addr, size, from, to;
    uint32_t node, thread, library;
    uint32_t freer;          /* the thread that gave it back + 1; 0: none, or not known */
    uint32_t native, python; /* call stacks; 0: not known */
    uint32_t capture;        /* of a graph, that it was made in; 0: none */
    bool live_at_end;
    bool segment; /* of PyTorch's allocator, as far as its maker tells */
    bool mapped;  /* a piece of a segment, one with its neighbours */
};

/* Frames as indices into the result's, outermost first. */
struct mpr_call_stack {
    const uint32_t *frame;
    size_t depth;
};

/* Who held a heap's peak: a range, else a Python stack; else a native stack or a library, by what
 * AUTO is in this log, or nobody that is known; of threads one. */
struct mpr_holder {
    uint32_t node, python, native, library, thread;
    uint64_t bytes, blocks, allocations;
    bool at_least; /* sampled blocks as they are: there may be more */
};

/* A name as frames, and who called its innermost one: a frame + 1; 0: not told. */
struct mpr_told_path {
    struct mpr_call_stack path;
    uint32_t caller;
};

/* A row of a line: a range, a Python stack, a native one or a thread. */
enum mpr_part_kind { MPR_PART_NODE, MPR_PART_PYTHON, MPR_PART_NATIVE, MPR_PART_THREAD };
struct mpr_line_part {
    enum mpr_part_kind kind;
    enum { MPR_TOLD_WHOLE, MPR_TOLD_AS_LINE, MPR_TOLD_ITSELF } how; /* unfolded it is told so */
    uint32_t number;
    struct mpr_told_path told; /* of MPR_TOLD_ITSELF */
};

/* A line of the reports that is not the whole path of one row. */
struct mpr_heap_line_of_view {
    struct mpr_told_path told;
    uint64_t rows, bytes, blocks, allocations; /* at the peak */
    uint64_t sibling_least, sibling_most;
    bool open;                  /* some of it lies in bands that do not say so */
    bool parts_open;            /* or that do not say of which of its rows it is */
    struct mpr_line_part *part; /* the rows that the result speaks of */
    size_t parts;
};
struct mpr_heap_view {
    struct mpr_heap_line_of_view *line;
    size_t lines;
};

/* Blocks of a band that came in one slice of the heap's changes and went in another. */
struct mpr_band_flow {
    uint32_t born; /* slice */
    uint32_t life; /* slices, that of its end, too; 0: live at the end */
    uint32_t band;
    uint64_t bytes, blocks;
};

struct mpr_heap_line {
    uint8_t heap;
    uint64_t peak_bytes, peak_time, peak_blocks, end_bytes, end_blocks;
    uint64_t allocations, frees, failures;
    uint8_t inside;        /* the heap whose bytes these are a part of; MPF_HEAP_NONE */
    bool is_about;         /* some of its blocks were counted now and then */
    uint64_t width_ns;     /* 1: every change has its own span */
    struct mpr_band *band; /* those of their own first, by largest */
    size_t bands;
    struct mpr_span *span;
    size_t spans;
    struct mpr_band_change *change;
    size_t changes;
    struct mpr_exact *exact; /* in order; none where width_ns is 1 */
    size_t exacts;
    struct mpr_holder *holder; /* by MPR_GROUP_ALL: the largest at the peak, largest first */
    size_t holders;
    const struct mpr_line *held; /* by MPR_GROUP_ALL: lines of what was held at the peak */
    size_t helds;
    struct mpr_heap_lines *lines; /* by MPR_GROUP_ALL: how rows became lines (heap_lines.h) */
    struct mpr_heap_view view[MPR_TOLD_VIEWS];
    struct mpr_lifetime *lifetime; /* by MPR_GROUP_ALL: blocks that stand out at some time, most at
                                      the peak, in order of `from` */
    size_t lifetimes;
    const struct mpr_band_flow *flow; /* by MPR_GROUP_ALL: in order of `born`; none where it is not
                                         known */
    size_t flows;
    const uint64_t *slice_time; /* of each slice's first change */
    size_t slices;
    uint64_t slice_changes;              /* that each holds */
    const struct mpr_instance_heap *box; /* by MPR_GROUP_ALL: by the timeline's boxes */
};

/* The newest lack of device memory that nobody got over, as `oom` has it. */
struct mpr_timeline_oom {
    bool told;
    unsigned device;
    uint64_t time, bytes, needed; /* needed: of the driver */
    uint64_t free;                /* UINT64_MAX: not known */
    uint32_t node;                /* its range, else its Python stack */
};

/* The outermost range that repeats (repeats.h): its name, and the time from the first instance's
 * beginning to the last one's end. */
struct mpr_timeline_repeat {
    const char *name; /* NULL: none repeats */
    uint64_t instances, from, to;
};

struct mpr_timeline {
    struct mpr_timeline_options options;
    struct mpr_arena arena;
    struct mpr_summary summary;
    struct mpr_choice choice;   /* what the bands are by; source "": as was asked for */
    struct mpr_choice best;     /* what AUTO is in this log */
    bool sampled;               /* only a sample of the small blocks has its call stack */
    struct mpr_heap_line *heap; /* largest peak first */
    size_t heaps;
    const struct mpr_device_account *account; /* devices that are known */
    size_t accounts;
    /* by MPR_GROUP_ALL only: */
    struct mpr_tree_node *node;
    size_t nodes;
    struct mpr_mark *mark; /* in order of time */
    size_t marks;
    struct mpr_range_instance *instance; /* in order of `from` */
    size_t instances;
    uint64_t marks_left_out;
    struct mpr_lane_box *box; /* in order of `from`; of paths of up to MPR_LANES_DEPTH names */
    size_t boxes;
    uint64_t boxes_shortest; /* ns: shorter ones may be joined, and have none inside; 0: all stand
                              */
    uint64_t boxes_left_out;
    struct mpr_track_line track[MPR_TRACKS];
    const char **size_name; /* by class */
    size_t sizes;
    const struct mpr_frame **thread; /* by number */
    size_t threads;
    const struct mpr_frame **library; /* by number; "": not known */
    size_t libraries;
    const struct mpr_call_stack *stack; /* by number; 0: the empty one */
    size_t stacks;
    const struct mpr_frame *const *frame;
    size_t frames;
    struct mpr_segments segments;  /* at each device's peak */
    struct mpr_segments at_oom;    /* when memory ran out; no device: it did not */
    struct mpr_segments_kept then; /* at other instants */
    struct mpr_timeline_oom oom;
    const char *compared; /* the range whose instances insights compares; NULL: none */
    struct mpr_timeline_repeat repeat;
    uint64_t *held_until; /* by capture - 1: ns, how long a graph held what was made in it;
                             UINT64_MAX: to the end */
    size_t captures;
};

#endif
