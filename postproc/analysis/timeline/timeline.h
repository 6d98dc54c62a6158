/* The bytes of each owner over time: the result of `memprof-report timeline`, and the data of the
 * page.
 *
 * Everything in it lives until mpr_timeline_free. Bytes are requested bytes; times are ns since the
 * process's start. A heap's bands sum to its bytes at every stored instant, and one of these is the
 * peak. */
#ifndef MPR_TIMELINE_H
#define MPR_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "device.h"
#include "heap_names.h"
#include "instances.h"
#include "progress.h"
#include "row.h"
#include "segments.h"
#include "summary.h"

struct mpr_error;
struct mpr_owner_lines;
struct mpr_line;
struct mpr_naming;

struct mpr_timeline_options {
    enum mpr_group by;
    uint8_t heap;      /* MPF_HEAP_NONE: all */
    uint64_t from, to; /* ns */
    /* limits for each heap */
    size_t buckets, changes, flows;
    size_t bands;     /* the largest bands, and one for the remainder */
    size_t lifetimes; /* blocks, by MPR_GROUP_ALL */
    size_t places;    /* at the peak, by MPR_GROUP_ALL */
    /* limits for the whole timeline */
    size_t boxes;    /* in the lanes of ranges, by MPR_GROUP_ALL */
    size_t instants; /* even: instants of a device's account, spread over the run */
    size_t segments; /* at all instants together, by MPR_GROUP_ALL */
    size_t exact;   /* changes that are kept on either side of a peak, a failure or a graph; a power
                       of two, or 0 */
    bool estimates; /* by MPR_GROUP_ALL: bands have what their sampled blocks represent */
    bool backward_of; /* PyTorch's backward ranges become children of their forward operators */
    const struct mpr_naming *naming; /* for the names of lines, by MPR_GROUP_ALL */
};

/* viewer/columns.mjs reads these two lists. ONE: one owner. SMALL: owners of one range (or
 * Python stack) and library that are too small for their own band. FOLD: small owners that the
 * reports show as one line (owner_lines.c). OTHER: all other owners. */
#define MPR_BAND_KINDS(X) X(ONE) X(SMALL) X(FOLD) X(OTHER)
/* The groupings of the page. Those before SIZE are also groupings of the reports, with lines as
 * there. */
#define MPR_PAGE_VIEWS(X) X(AUTO) X(RANGE) X(PYTHON) X(STACK) X(THREAD) X(SIZE) X(LIBRARY)

#define X(name) MPR_BAND_##name,
enum mpr_band_kind { MPR_BAND_KINDS(X) };
#undef X
#define X(name) MPR_VIEW_##name,
enum mpr_view { MPR_PAGE_VIEWS(X) MPR_VIEWS, MPR_LINE_VIEWS = MPR_VIEW_SIZE };
#undef X

/* Facts about the blocks of a band in a heap with estimates, as bits. They decide in which
 * groupings its samples represent other blocks, and in which groupings those blocks are in this
 * band. COUNTED: the blocks were only counted, not recorded one by one. SAMPLED: some blocks are
 * samples; the other facts are the same for all blocks. viewer/columns.mjs reads this list. */
#define MPR_BAND_FACTS(X)                                                                          \
    X(IN_RANGE) X(HAS_PYTHON) X(HAS_NATIVE) X(HAS_LIBRARY) X(COUNTED) X(SAMPLED)
#define X(name) MPR_BAND_##name,
enum mpr_band_fact { MPR_BAND_FACTS(X) };
#undef X

struct mpr_band {
    enum mpr_band_kind kind;
    struct mpr_path path;                  /* one label if grouped by thread, size, ... */
    uint32_t node, thread, class, library; /* by MPR_GROUP_ALL: numbers */
    uint32_t native, python; /* call stacks. SMALL: only the Python stack, and only without a range.
                                FOLD: those of one of the owners */
    uint64_t largest;        /* bytes in any vector */
    bool at_least; /* a lower bound: the blocks that its samples represent are in another band */
    struct mpr_band_sampling {
        uint64_t bytes, more, variance;
    } sampling; /* the change with the largest `more`, or the largest `variance` if none has any;
                   zeros if it has no samples */
    uint32_t facts; /* bits of MPR_BAND_FACTS; in a heap without estimates only COUNTED */
    /* by MPR_GROUP_ALL: whether more bytes with this band's path are in bands that do not show
     * it. Bit 0: with the whole path. Bit n: with the path's first n names. */
    uint32_t piece[MPR_VIEWS];
};

/* An interval of width_ns, or the time from one change to the next. In an exact interval it is
 * one change; next to one it is the remaining part of width_ns. */
struct mpr_span {
    uint64_t start;
    uint64_t time; /* of the maximum */
    uint64_t max, min, close;
    uint64_t allocs, frees;
    size_t end; /* end of its changes in `change`, which lead from the previous span's bytes to
                   these */
};
/* In [from, to) every instant has its own span. */
struct mpr_exact {
    uint64_t from, to; /* UINT64_MAX: to the end */
};
struct mpr_band_change {
    uint32_t band;
    uint64_t bytes;
    /* In a heap with estimates: the bytes that its samples represent beyond themselves, and their
     * variance in mpr_estimates_units. */
    uint64_t more, variance;
};

/* A range path: its parent's number and its innermost name.  Number 0 is the empty path. */
struct mpr_tree_node {
    uint32_t parent;
    const struct mpr_frame *frame;
};

enum mpr_mark_kind {
    MPR_MARK_NVTX,
    MPR_MARK_FAILED,  /* an allocation of the host failed */
    MPR_MARK_REFUSED, /* the driver was out of memory, but the caller may have tried again */
    MPR_MARK_OOM,     /* PyTorch gave up */
    MPR_MARK_GRAPH,   /* a CUDA graph was captured or instantiated */
};

struct mpr_mark {
    enum mpr_mark_kind kind;
    uint64_t time;
    uint64_t bytes;      /* asked for */
    uint64_t free_bytes; /* the device's free memory at that time, or UINT64_MAX if unknown */
    /* The same as in `graphs` */
    struct {
        bool instantiated;
        uint64_t nodes, segment_bytes;
        int64_t executable_bytes, launch_bytes, bytes;
    } graph;
    uint32_t node, thread;
    uint8_t heap;     /* MPF_HEAP_NONE: none */
    const char *text; /* of MPR_MARK_NVTX */
};

/* One instance of a range. */
struct mpr_range_instance {
    uint64_t from, to;
    uint32_t node, thread;
};

/* A range in its lane, or `count` consecutive ranges that are too short for separate boxes. Such
 * a box starts with the first range, ends with the last, and has the name of the first. */
struct mpr_lane_box {
    uint64_t from, to, count;
    uint64_t number; /* which instance it is (the first one of the box), from 1, or 0 if names have
                        numbers */
    uint32_t node, thread;
    bool outer; /* it is the outermost range that repeats */
    bool mixed; /* some ranges have other names, apart from numbers */
};

/* Figures of the kernel and the driver over time. */
enum { MPR_TRACK_RSS, MPR_TRACK_CGROUP, MPR_TRACK_GPU, MPR_TRACKS = MPR_TRACK_GPU + 16 };
struct mpr_track_point {
    uint64_t time, value;
};
struct mpr_track_line {
    struct mpr_track_point *point;
    size_t points;
    uint64_t limit; /* 0 if unlimited */
};

/* One block, from its allocation to its free. */
struct mpr_lifetime {
    uint64_t addr, size, from, to;
    uint32_t node, thread, library;
    uint32_t freeing_thread; /* the thread that freed it + 1, or 0 if not freed or unknown */
    uint32_t native, python; /* call stacks, or 0 if unknown */
    uint32_t capture;        /* the graph capture that allocated it, or 0 */
    bool live_at_end;
    bool segment; /* a segment of PyTorch's allocator, as its call stack shows */
    bool mapped;  /* a mapped part of a segment, joined with its neighbours */
};

/* Indices of the result's frames, outermost first. */
struct mpr_call_stack {
    const uint32_t *frame;
    size_t depth;
};

/* An owner of a heap's bytes at the peak: a range; without one a Python stack; without that a
 * native stack or a library, as AUTO chooses in this log; or unknown. thread: one of its
 * threads. */
struct mpr_holder {
    uint32_t node, python, native, library, thread;
    uint64_t bytes, blocks, allocations;
    bool about;                   /* estimates, as in `peaks` */
    struct mpr_variance variance; /* of the bytes */
    uint64_t error;               /* standard error of the bytes */
};

/* The blocks of a range and call stack at a heap's peak: the Python stack, or the native one if
 * that is unknown. kind: ONE, or OTHER if the result does not have the range. */
struct mpr_peak_place {
    enum mpr_band_kind kind;
    uint32_t node, python, native;
    uint32_t facts;                 /* as of a band */
    uint64_t bytes, more, variance; /* as of a change */
};

/* A name as frames. caller: the caller of the innermost frame + 1, or 0 if it is not shown. */
struct mpr_short_path {
    struct mpr_call_stack path;
    uint32_t caller;
};

/* One of the owners that share a line: a range, a Python stack, a native stack or a thread. */
enum mpr_part_kind { MPR_PART_NODE, MPR_PART_PYTHON, MPR_PART_NATIVE, MPR_PART_THREAD };
struct mpr_line_part {
    enum mpr_part_kind kind;
    enum {
        MPR_SHOWN_WHOLE,
        MPR_SHOWN_AS_LINE,
        MPR_SHOWN_ITSELF
    } how; /* its name when the line is expanded: the whole path, the line's name, or `shown` */
    uint32_t number;
    struct mpr_short_path shown; /* for MPR_SHOWN_ITSELF */
};

/* A line of the reports. Lines that are the whole path of one owner are omitted. */
struct mpr_view_line {
    struct mpr_short_path shown;
    uint64_t rows, bytes, blocks, error; /* at the peak, as of a holder */
    bool about;
    uint64_t sibling_least, sibling_most;
    bool open;       /* some of its bytes are in bands that do not show its name */
    bool parts_open; /* some of its bytes are in bands that do not show one of its owners */
    struct mpr_line_part *part; /* the owners that the result has */
    size_t parts;
};
struct mpr_heap_view {
    struct mpr_view_line *line;
    size_t lines;
};

/* Blocks of a band that were allocated in one slice of time and freed in another. */
struct mpr_band_flow {
    uint32_t allocated; /* slice */
    uint32_t slices;    /* lifetime in slices, including the first and the last, or 0 if live at the
                           end */
    uint32_t band;
    uint64_t bytes, blocks;
};

struct mpr_heap_timeline {
    uint8_t heap;
    uint64_t peak_bytes, peak_time, peak_blocks, end_bytes;
    uint64_t allocations, frees, failures;
    uint8_t inside;        /* the heap that includes these bytes, or MPF_HEAP_NONE */
    bool is_approximate;   /* some of its blocks were only counted from time to time */
    uint64_t sample_mean;  /* bytes between samples, 0 in a heap without estimates */
    uint64_t width_ns;     /* 1: every change has its own span */
    struct mpr_band *band; /* MPR_BAND_ONE first, by largest */
    size_t bands;
    struct mpr_span *span;
    size_t spans;
    struct mpr_band_change *change;
    size_t changes;
    struct mpr_exact *exact; /* in order, unless width_ns is 1 */
    size_t exacts;
    struct mpr_holder *holder; /* the largest owners at the peak, largest first */
    size_t holders;
    const struct mpr_line *peak_line; /* by MPR_GROUP_ALL: lines of the owners at the peak */
    size_t peak_lines;
    struct mpr_peak_place *place; /* by MPR_GROUP_ALL: largest first; the last one has the others */
    size_t places;
    struct mpr_owner_lines *lines; /* by MPR_GROUP_ALL: which owners share a line (owner_lines.c) */
    struct mpr_heap_view view[MPR_LINE_VIEWS];
    struct mpr_lifetime *lifetime; /* by MPR_GROUP_ALL: the largest blocks, most of them at the
                                      peak, in order of `from` */
    size_t lifetimes;
    const struct mpr_band_flow *flow; /* by MPR_GROUP_ALL, if known: in order of `born` */
    size_t flows;
    const uint64_t *slice_time; /* time of each slice's first change */
    size_t slices;
    uint64_t slice_changes;              /* number of changes in each slice */
    const struct mpr_instance_heap *box; /* by MPR_GROUP_ALL: by the timeline's boxes */
};

/* The newest out-of-memory event of a device that ended the program's work, as in `oom`. */
struct mpr_timeline_oom {
    bool known;
    unsigned device;
    uint64_t time, bytes, needed; /* needed: asked of the driver */
    uint64_t free;                /* UINT64_MAX if unknown */
    uint32_t node;                /* its range, else its Python stack */
};

/* The outermost range that repeats (repeats.h): its name, and the time from the begin of the
 * first instance to the end of the last one. */
struct mpr_timeline_repeat {
    const char *name; /* NULL if none repeats */
    uint64_t instances, from, to;
};

struct mpr_timeline {
    struct mpr_timeline_options options;
    struct mpr_arena arena;
    struct mpr_summary summary;
    struct mpr_choice choice;       /* the grouping of the bands; source "": the user chose it */
    struct mpr_choice best;         /* the grouping for AUTO in this log */
    struct mpr_heap_timeline *heap; /* largest peak first */
    size_t heaps;
    const struct mpr_device_account *account; /* known devices */
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
    uint64_t boxes_shortest; /* ns: shorter ranges may share a box and have no boxes inside, or 0 if
                                each range has its box */
    uint64_t boxes_left_out;
    struct mpr_track_line track[MPR_TRACKS];
    const char **size_name; /* by class */
    size_t sizes;
    const struct mpr_frame **thread; /* by number */
    size_t threads;
    const struct mpr_frame **library; /* by number, or "" if unknown */
    size_t libraries;
    const struct mpr_call_stack *stack; /* by number; number 0 is empty */
    size_t stacks;
    const struct mpr_frame *const *frame;
    size_t frames;
    struct mpr_segments segments;           /* at each device's peak */
    struct mpr_segments at_oom;             /* when memory ran out; has no device if it did not */
    struct mpr_segments_series at_instants; /* at other instants */
    struct mpr_timeline_oom oom;
    struct mpr_timeline_repeat repeat;
    uint64_t *held_until; /* by capture - 1: the time until which a graph held its allocations, ns;
                             UINT64_MAX: to the end */
    size_t captures;
};

/* Reads one log.  Returns 0, or -1 with *error filled and nothing to free. */
int mpr_timeline_read(struct mpr_timeline *timeline, const char *path,
                      const struct mpr_timeline_options *options,
                      const struct mpr_progress *progress, struct mpr_error *error);
/* The same for a caller that also replays the log for other analyses. options->by must not be
 * AUTO. Call mpr_timeline_watch before any other observer and before the first event, and
 * mpr_timeline_fill after the last event. With MPR_GROUP_ALL, mpr_timeline_watch sets
 * reader->repeats. */
struct mpr_reader;
struct mpr_timeline_reading;
void mpr_timeline_init(struct mpr_timeline *timeline, const struct mpr_timeline_options *options);
struct mpr_timeline_reading *mpr_timeline_watch(const struct mpr_timeline *timeline,
                                                struct mpr_reader *reader);
void mpr_timeline_fill(struct mpr_timeline *timeline, struct mpr_timeline_reading *reading,
                       struct mpr_reader *reader, const char *path);
void mpr_timeline_reading_free(struct mpr_timeline_reading *reading);
void mpr_timeline_free(struct mpr_timeline *timeline);

#endif
