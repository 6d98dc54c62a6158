/* The whole content of a log, for tools with other questions: used by `memprof-report export`.
 * There may be very many blocks, instances of ranges and samples, so callbacks get them one by
 * one while the log is read, in no order. The other contents are in the result, which lives
 * until mpr_contents_free. Numbers of ranges, threads and sites are those of this log; times are
 * ns since the process's start. */
#ifndef MPR_CONTENTS_H
#define MPR_CONTENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "device.h"
#include "graphs.h"
#include "info.h"
#include "mpf/gpu.h"
#include "progress.h"
#include "reading.h"
#include "segments.h"
#include "summary.h"

struct mpr_error;
struct mpr_user_frames;

/* ---- callbacks */

/* freed_range, freed_thread: those of the free. UINT64_MAX: live at the end (freed_ns), or not
 * freed or unknown (the others). A block without a call stack has site 0. */
struct mpr_content_block {
    uint8_t heap;
    uint64_t address, bytes, made_ns, freed_ns;
    uint64_t range, thread, site;
    uint64_t freed_range, freed_thread;
};

/* An instance of a range. ended: false if it was open at the end of the log. */
struct mpr_content_instance {
    uint64_t range, thread, begin_ns, end_ns;
    bool ended;
};

/* Figures of a GPU's driver in the order of mpf/gpu.h, or MPF_UNKNOWN. */
struct mpr_content_gpu {
    uint64_t device, time_ns, value[MPF_GPU_COUNT];
};

struct mpr_content_sink {
    void *arg;
    void (*block)(void *arg, const struct mpr_content_block *block);
    void (*instance)(void *arg, const struct mpr_content_instance *instance);
    void (*sample)(void *arg, enum mpr_reading_source source, const struct mpr_reading *reading);
    void (*gpu)(void *arg, const struct mpr_content_gpu *sample);
};

/* ---- the result */

struct mpr_content_heap {
    uint8_t heap, inside; /* inside: the heap that includes these bytes, or MPF_HEAP_NONE */
    uint64_t peak_bytes, peak_ns, peak_blocks, end_bytes, end_blocks;
    uint64_t allocations, frees, failures, unmatched;
    bool estimated; /* from a sample of its blocks */
};

/* The blocks of one range, thread, site and size class. All uses of a heap sum to its bytes at
 * its peak and at the end. */
struct mpr_content_use {
    uint8_t heap;
    uint64_t range, thread, site;
    uint64_t size_up_to; /* bytes; its blocks are larger than half of this */
    uint64_t peak_bytes, peak_blocks, end_bytes, end_blocks, own_peak, allocations;
    uint64_t error;   /* the standard error of peak_bytes, or 0 if exact */
    const char *mark; /* "~": estimated from samples, ">=": only the sampled blocks, "": exact */
};

/* Number 0 is "outside any range", which is its own parent. */
struct mpr_content_range {
    uint64_t number, parent;
    const char *name;
    struct mpr_path path; /* outermost first */
};

/* A pair of call stacks, 0 if unknown. name: the innermost call, as in the reports; caller: as
 * in struct mpr_frame_summary. */
struct mpr_content_site {
    uint64_t number, native, python;
    const char *name, *caller;
};

/* A call in a stack; level 0 is the innermost. */
struct mpr_content_call {
    uint64_t stack, level, frame;
};
struct mpr_content_frame {
    uint64_t number;
    const char *text;
};

struct mpr_contents {
    struct mpr_arena arena;
    struct mpr_summary summary;
    uint64_t failures; /* allocations of device memory that failed (ooms.h) */
    struct mpr_content_heap *heap;
    struct mpr_content_use *use;
    struct mpr_content_range *range;
    struct mpr_info_thread *thread;
    struct mpr_content_site *site;
    struct mpr_content_call *call;
    struct mpr_content_frame *frame;
    size_t heaps, uses, ranges, threads, sites, calls, frames;
    struct mpr_segments segments; /* at each device's newest out-of-memory event, or its peak */
    struct mpr_graphs graphs;
    struct mpr_device *device; /* with its account at its peak */
    size_t devices;
};

/* Callbacks get blocks of at least min_bytes, and blocks and instances in [from_ns, until_ns]. */
struct mpr_contents_options {
    uint64_t min_bytes, from_ns, until_ns;
    struct mpr_user_frames *user_frames; /* for the names of sites */
};

/* Reads one log.  Returns 0, or -1 with *error filled and nothing to free. */
int mpr_contents_read(struct mpr_contents *contents, const char *path,
                      const struct mpr_contents_options *options,
                      const struct mpr_content_sink *sink, const struct mpr_progress *progress,
                      struct mpr_error *error);
void mpr_contents_free(struct mpr_contents *contents);

/* ---- each begin and end of a range in order, for tools that draw ranges over time
 *
 * Ranges that are open at from_ns begin there, outermost first; ranges that are open at until_ns
 * end there. */

struct mpr_range_event {
    bool begins;
    uint64_t time_ns, thread;
    const char *domain, *name; /* valid during the reading; domain: "" for the application's */
    uint64_t step;             /* which instance of the step it is, from 1, or 0 for other ranges */
};

struct mpr_range_events_options {
    const char *step; /* the name of a range (repeats.h), or NULL */
    uint64_t from_ns, until_ns;
    void (*report)(void *arg, const struct mpr_range_event *turn);
    void *arg;
};

/* Returns 0, or -1 with *error filled. */
int mpr_range_events_read(const char *path, const struct mpr_range_events_options *options,
                          const struct mpr_progress *progress, struct mpr_error *error);

#endif
