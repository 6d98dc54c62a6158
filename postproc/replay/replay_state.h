/* What replay knows: all tables of one log, as the parts of replay share them. */
#ifndef MPR_REPLAY_STATE_H
#define MPR_REPLAY_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "absent.h"
#include "blocks.h"
#include "books.h"
#include "estimates.h"
#include "flows.h"
#include "gpu_state.h"
#include "group.h"
#include "instant.h"
#include "large.h"
#include "lasting.h"
#include "ledger.h"
#include "mpf/event.h"
#include "mpf/slot.h"
#include "nvtx_heaps.h"
#include "ranges.h"
#include "regions.h"
#include "repairs.h"
#include "samples.h"
#include "sites.h"
#include "threads.h"
#include "totals.h"
#include "windows.h"
#include "wrappers.h"

struct mpr_replay_options {
    enum mpr_group by;         /* what a cell is */
    struct mpr_instant at;     /* what stands for the peaks */
    bool has_parent;           /* a fork's child: unknown blocks that it frees are its parent's */
    bool no_inherit;           /* threads without ranges do not take those of another thread */
    bool backward_of;          /* PyTorch's backward ranges stand below their forward operators' */
    bool without_malloc;       /* malloc's blocks are left out: who asks of devices needs none */
    double sample_mean;        /* bytes between samples of call stacks; 0: they are not sampled */
    double torch_sample_mean;  /* the same of the Python stacks of PyTorch's blocks; a log that has
                                  both has one mean */
    double python_sample_mean; /* the same of the small objects of Python: nothing else is of them
                                */
    uint64_t sample_below;     /* smaller blocks are sampled */
    double host_sample_mean;   /* bytes between samples of host/heap's blocks, where no others are
                                  recorded; 0: they are not sampled */
    uint64_t host_sample_below;
    bool in_window;     /* one is open at the start */
    bool pools_exact;   /* the levels of stream-ordered pools are never late (format 1.11) */
    char rest_name[80]; /* of the blocks that are counted and not recorded each (totals.h) */
};

struct mpr_replay;

/* Sees events that are no allocations or frees, each after it has been applied. */
struct mpr_watch {
    void (*event)(void *arg, const struct mpr_replay *r, const struct mpr_thread *t,
                  const struct mpf_event *e);
    void *arg;
};

/* Told before the first event of `next` or later, at that event's time, and then each `every` ns at
 * least: the books are as they have been since r->now. */
struct mpr_clock {
    void (*tick)(void *arg, const struct mpr_replay *r, uint64_t time); /* NULL: nobody is */
    void *arg;
    uint64_t every, next;
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
    struct mpr_sites sites; /* call stacks */
    struct mpr_gpu gpu;
    struct mpr_nvtx nvtx;
    struct mpr_estimates estimates;
    struct mpr_totals totals;
    uint32_t absent_site; /* of what is not in the log any more (absent.h); 0: nothing was told of
                             it */
    struct mpr_absent_live absent[MPR_HEAPS];
    struct mpr_windows windows;
    struct mpr_wrappers wrappers;
    struct mpr_large *large; /* observers of blocks; NULL: none */
    struct mpr_lasting *lasting;
    struct mpr_flows *flows;
    struct mpr_ledger *ledger;
    struct mpr_watch watch; /* event NULL: nobody */
    uint64_t count[256];    /* events by operation */
    uint64_t lost;          /* events, and by reason */
    uint64_t lost_by[16];
    struct mpf_unwritten unwritten[8]; /* times that frames could not be written: the first ones */
    uint32_t unwrittens;
    uint64_t now;   /* time of the newest event */
    uint32_t actor; /* its thread; MPR_NOBODY: who does what is done now is not known */
    uint64_t turn;  /* ns: an event of then, or later, begins or ends the chosen instant, or the
                       clock ticks; UINT64_MAX: none does */
    uint64_t chosen_turn; /* the same of the chosen instant alone */
    struct mpr_clock clock;
    bool chosen, pinned; /* it has begun; it has passed */
};

#endif
