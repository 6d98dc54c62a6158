/* Thinning: rewrites the older part of a log with fewer events.
 *
 * Private to this folder and its tests.  kept_instants.c chooses the instants that stay whole,
 * retention.c and range_retention.c choose the events to remove, and thin.c writes the others. */
#ifndef MPR_THIN_H
#define MPR_THIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "replay.h"

struct mpr_thinned {
    uint64_t frames, bytes; /* written */
    uint64_t removed;       /* events */
    uint64_t until;         /* CLOCK_MONOTONIC ns of the newest event of the thinned part */
    uint64_t grain;         /* ns: width of a bin of time.  In each bin the largest state of every
                               heap stays whole */
};

/* Appends EVENTS frames to @fd that replace the log's frames up to @seq, including those of its
 * LOG.fold.  The last frame gets the number @seq.  There are not more frames than before and, if
 * possible, not more than @budget bytes.  Returns 0, or -1 with *error filled.  Needs the memory of
 * a report, and a bit for each event. */
int mpr_thin(const char *log, uint64_t seq, uint64_t budget, int fd, struct mpr_thinned *out,
             struct mpr_error *error);

/* ---- the instants that stay whole
 *
 * An instant is the state after an event.  An event is identified by its number in the log, from 0.
 *
 * All heaps stay whole at the peaks of heaps and devices, at failures, and at the end.  Each heap
 * also stays whole at its largest state in each bin of time.  Of each instance of the repeating
 * range, the bytes and blocks of the largest state stay, but not the single blocks (a level).  So a
 * report shows the same for these instants with the thinned log.  At any other instant a heap has
 * at most the bytes that it had. */

struct mpr_event_list { /* numbers of events, in order */
    uint64_t *at;
    size_t count, cap;
};

/* The largest states of a heap, one for each bin of time. */
struct mpr_bins {
    struct mpr_bin {
        uint64_t number, after, bytes;
    } * at;
    size_t count, cap;
};

/* An instant whose bytes and blocks are in the thinned log, but not the blocks themselves. */
struct mpr_level {
    uint64_t after;
    enum mpr_level_how {
        MPR_LEVEL_RECORDED,   /* the event itself has it: a FOLDED of an earlier thinning */
        MPR_LEVEL_UNTIL_NEXT, /* also holds at the next event, the range's PUSH or POP */
        MPR_LEVEL_AT,
    } how;
};
struct mpr_level_list {
    struct mpr_level *at;
    size_t count, cap;
};

enum { MPR_KEPT_BINS = 4096 }; /* maximum */

struct mpr_kept {
    uint64_t events;                        /* in the part that is thinned */
    uint64_t until, grain;                  /* time of its newest event; the width of a bin, ns */
    struct mpr_event_list whole[MPR_HEAPS]; /* instants by heap; MPF_HEAP_NONE: those of any heap */
    struct mpr_level_list level[MPR_HEAPS];
    struct mpr_event_list instances; /* PUSHes of the repeating range */
    /* Spans around the events of `always`: first event, last event, first event, ...  A span is
     * from the beginning of an instance to the end of the next.  All ranges and PyTorch blocks in a
     * span stay, because they show the use of a block. */
    struct mpr_event_list busy;
    struct mpr_event_list always; /* whole for every heap, whatever the grain */
    struct mpr_bins bins[MPR_HEAPS];
    struct mpr_used_heaps heaps;
};

/* Reads the log up to frame @seq.  @grain: minimum width of a bin, ns.  Returns 0, or -1 with
 * *error filled. */
int mpr_kept_find(struct mpr_kept *kept, const char *log, uint64_t seq, uint64_t grain,
                  struct mpr_error *error);
/* Joins each two bins.  Returns false if there is only one bin. */
bool mpr_kept_coarsen(struct mpr_kept *kept);
void mpr_kept_free(struct mpr_kept *kept);

/* ---- the events that are removed
 *
 * A block is removed (its allocation, its free and their call stacks) if it was not live at any
 * instant that stays whole.  A range is removed if no event in it stays.  Samples of the kernel
 * stay if they are the largest in their bin, or the nearest to an instant that stays whole. */

struct mpr_retention {
    uint64_t *removed; /* a bit for each event */
    uint64_t count;    /* of removed events */
    struct mpr_removed_blocks {
        /* For each level of the heap: the removed blocks that are live at this level, minus those
         * at the previous level until mpr_retention_find has returned. */
        int64_t *bytes, *blocks;
        uint64_t allocations, frees;
    } of[MPR_HEAPS];
};

static inline bool mpr_retention_is_removed(const struct mpr_retention *r, uint64_t event)
{
    return r->removed[event / 64] >> event % 64 & 1;
}

/* Reads the same part of the log as mpr_kept_find did.  Returns 0, or -1 with *error filled. */
int mpr_retention_find(struct mpr_retention *retention, const struct mpr_kept *kept,
                       const char *log, uint64_t seq, struct mpr_error *error);
void mpr_retention_free(struct mpr_retention *retention);

/* ---- the removed ranges
 *
 * A range has holders: while it is open, and for each range and each block in it that is not
 * decided yet.  When it has no holders left, it stays if anything in it stays, and is removed
 * otherwise. */

struct mpr_span;
struct mpr_span_stack;

struct mpr_spans {
    struct mpr_span *span; /* from 1 */
    uint32_t spans, cap, free;
    struct mpr_span_stack *of; /* by thread */
    uint32_t threads;
    /* The first thread + 1 in the list of those that pushed a range of the application.  Some may
     * have no open range any more. */
    uint32_t newest;
    void (*remove)(void *arg, uint64_t event); /* called for each event of a removed range */
    void *arg;
};

void mpr_spans_free(struct mpr_spans *s);
/* Adds holders to the ranges that an event of the thread happens in: the thread's innermost range
 * and, if the event inherits ranges and the thread has none of the application, the ranges that it
 * inherits.  Unused elements of @held are 0. */
enum { MPR_SPANS_AROUND = 3 };
void mpr_spans_hold(struct mpr_spans *s, uint32_t thread, bool inherits,
                    uint32_t held[MPR_SPANS_AROUND]);
/* Removes these holders, once it is decided whether the event stays. */
void mpr_spans_release(struct mpr_spans *s, const uint32_t held[MPR_SPANS_AROUND], bool stays);
/* Makes the ranges stay that an event of the thread happens in. */
void mpr_spans_keep(struct mpr_spans *s, uint32_t thread, bool inherits);

void mpr_spans_push(struct mpr_spans *s, uint32_t thread, uint64_t event, uint32_t domain,
                    bool stays);
void mpr_spans_pop(struct mpr_spans *s, uint32_t thread, uint64_t event, uint32_t domain);
/* Adds an event to the thread's newest PUSH (TORCH_NODE), or PUSH or POP (RANGE_DATA). */
void mpr_spans_add(struct mpr_spans *s, uint32_t thread, uint64_t event);
/* A mark or a range of the process has begun: a payload that follows belongs to that, and to none
 * of the thread's ranges. */
void mpr_spans_forget_newest(struct mpr_spans *s, uint32_t thread);
/* The thread has ended, and its open ranges with it. */
void mpr_spans_end_thread(struct mpr_spans *s, uint32_t thread);
/* After the last event: open ranges stay. */
void mpr_spans_end(struct mpr_spans *s);

#endif
