/* Replay: from events in time order to who holds what, now and at each heap's peak.
 *
 * One pass; memory grows with live blocks, ranges and threads, never with events.  Not thread-safe. */
#ifndef MPR_REPLAY_H
#define MPR_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blocks.h"
#include "books.h"
#include "estimates.h"
#include "gpu.h"
#include "large.h"
#include "mpf/event.h"
#include "ranges.h"
#include "regions.h"
#include "repairs.h"
#include "samples.h"
#include "threads.h"
#include "wrappers.h"

struct mpr_replay;

/* LIBRARY, STACK and PYTHON are known where the log has the block's call stack, COMM and GRAPH of device memory. */
enum mpr_by {
    MPR_BY_RANGE, MPR_BY_THREAD, MPR_BY_SIZE, MPR_BY_HEAP, MPR_BY_LIBRARY, MPR_BY_COMM, MPR_BY_PYTHON, MPR_BY_STACK, MPR_BY_GRAPH,
    MPR_BY_AUTO, MPR_BY_ALL
};

/* Of keys by AUTO: a library's number, not a range's. */
#define MPR_KEY_LIBRARY (UINT64_C(1) << 32)

#define MPR_AT_PEAK UINT64_MAX

struct mpr_replay_options {
    enum mpr_by by;             /* what a cell is */
    uint64_t at, until;         /* ns: the largest states from `at` to `until` stand for the peaks; at MPR_AT_PEAK: the peaks themselves */
    bool settled;               /* not the largest states, but those that `until` left behind */
    bool has_parent;            /* a fork's child: unknown blocks that it frees are its parent's */
    bool no_inherit;            /* threads without ranges do not take those of another thread */
    bool backward_of;           /* PyTorch's backward ranges stand below their forward operators' */
    double sample_mean;         /* bytes between samples of call stacks; 0: they are not sampled */
    double torch_sample_mean;   /* the same of the Python stacks of PyTorch's blocks; a log that has both has one mean */
    uint64_t sample_below;      /* smaller blocks are sampled */
};

/* Sees events that are no allocations or frees, each after it has been applied. */
struct mpr_watch {
    void (*event)(void *arg, const struct mpr_replay *r, const struct mpr_thread *t, const struct mpf_event *e);
    void *arg;
};

struct mpr_replay {
    struct mpr_replay_options options;
    struct mpr_books books;
    struct mpr_blocks blocks;
    struct mpr_ranges ranges;
    struct mpr_regions regions;
    struct mpr_threads threads;
    struct mpr_repairs repairs;
    struct mpr_samples samples;
    struct mpr_gpu gpu;
    struct mpr_estimates estimates;
    struct mpr_wrappers wrappers;
    struct mpr_large *large;    /* observer; NULL: none */
    struct mpr_names *names;    /* of who reads the result, to name calls with */
    struct mpr_watch watch;     /* event NULL: nobody */
    uint64_t count[256];        /* events by operation */
    uint64_t lost;              /* events, and by reason */
    uint64_t lost_by[16];
    uint64_t now;               /* time of the newest event */
    uint64_t turn;              /* ns: an event of then, or later, begins or ends the chosen instant */
    bool chosen, pinned;        /* it has begun; it has passed */
    bool out_of_memory;
};

/* Size class of a block: 0 for no bytes, otherwise n + 1 for sizes over 2^(n-1) up to 2^n. */
static inline uint32_t mpr_size_class(uint64_t size)
{
    if (size < 2) return (uint32_t)size;
    return 65 - (uint32_t)__builtin_clzll(size - 1);
}

/* What a block's cell depends on; site, comm and graph: 0 where they are not known. */
struct mpr_maker { uint64_t size; uint32_t node, thread, site, comm, graph; };

/* A cell's key by MPR_BY_ALL: who shares range, thread and size class; the cell's site stands beside it. */
struct mpr_all { uint32_t node, thread, class; };
static inline uint64_t mpr_all_key(struct mpr_all all)
{
    return all.node | (uint64_t)all.thread << 32 | (uint64_t)all.class << 54;
}
static inline struct mpr_all mpr_all_of(uint64_t key)
{
    return (struct mpr_all){ (uint32_t)key, key >> 32 & (MPR_THREADS_MAX - 1), (uint32_t)(key >> 54) };
}

int mpr_replay_init(struct mpr_replay *r, const struct mpr_replay_options *options);     /* 0, or -1 without memory */
void mpr_replay_free(struct mpr_replay *r);
/* The path of a block that is made in a range, with that Python stack: with its frames where the range is a wrapper's
 * (wrappers.h), by AUTO and ALL, which give a block the best name that it has. */
uint32_t mpr_replay_path(struct mpr_replay *r, uint32_t node, uint32_t python);
/* The key of a block's cell. */
uint64_t mpr_replay_key(const struct mpr_replay *r, const struct mpr_maker *m);
/* The index of its cell, made when new; UINT32_MAX without memory. */
uint32_t mpr_replay_cell(struct mpr_replay *r, const struct mpr_maker *m, uint8_t heap);
/* 0, or -1 without memory. */
int mpr_replay_batch(struct mpr_replay *r, const struct mpf_event *events, size_t count);
/* After the last event. */
void mpr_replay_finish(struct mpr_replay *r);

#endif
