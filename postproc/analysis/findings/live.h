/* A process as it is now, look by look: the result behind `memprof-report top`.
 *
 * Its log is read on from where the last look stopped.  What a look tells lives until the next look
 * at the same process.  Bytes are requested bytes; times are ns since the process's start. */
#ifndef MPR_LIVE_H
#define MPR_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device.h"
#include "ooms_result.h"
#include "progress.h"
#include "reading.h"
#include "row.h"
#include "summary.h"

struct mpr_error;

struct mpr_live_options {
    enum mpr_group by; /* of the owners; AUTO: what tells most when the process is first looked at
                        */
    uint8_t heap; /* the heap whose owners are shown, or MPF_HEAP_NONE for the largest: PyTorch's
                     blocks, not their segments */
};

struct mpr_live_heap {
    uint8_t heap, inside; /* inside: the heap whose bytes these are a part of; MPF_HEAP_NONE */
    uint64_t bytes, blocks, peak_bytes, peak_time;
    uint64_t allocations; /* a second since the last look; MPF_UNKNOWN: at the first one */
    int64_t grew;         /* bytes, in span_ns */
    bool estimated;
};

/* A thread with open ranges. */
struct mpr_live_thread {
    const char *name;
    struct mpr_path path; /* outermost first */
};

/* The repeated range that stands for the program's steps (repeats.h). */
struct mpr_live_step {
    const char *range;  /* "" : none repeats */
    uint64_t instances; /* that have begun */
    uint64_t each_ns;   /* what one took on average */
    uint64_t open_ns;   /* since the newest one began; MPF_UNKNOWN: it has ended */
};

struct mpr_live_look {
    struct mpr_summary summary;
    struct mpr_choice choice;
    uint64_t now_ns;          /* up to where the log tells */
    uint64_t events_a_second; /* since the last look; MPF_UNKNOWN */
    uint64_t span_ns; /* what grew, grew in it: a minute, or since the first look; 0: not yet */
    struct mpr_reading rss;         /* the newest sample */
    uint64_t host_bytes, gpu_bytes; /* live: of the host's heaps, of all devices' */
    int64_t host_grew;
    struct mpr_live_heap *heap; /* largest first */
    size_t heaps;
    uint8_t shown;  /* the heap whose owners these are; MPF_HEAP_NONE: nothing is live */
    uint64_t whole; /* its bytes */
    struct mpr_row *row;
    size_t rows;
    struct mpr_growth growth;  /* of the same heap */
    struct mpr_device *device; /* as they are now: `peak` is this instant */
    size_t devices;
    struct mpr_live_step step;
    struct mpr_live_thread *thread; /* the first ones by number */
    size_t threads;                 /* that are told */
    size_t more_threads;            /* that have open ranges, too */
};

struct mpr_live;

/* Opens a log.  0, or -1 with *error filled. */
int mpr_live_open(struct mpr_live **live, const char *path, const struct mpr_live_options *options,
                  struct mpr_error *error);
void mpr_live_close(struct mpr_live *live);
/* May there ever be more of it? */
bool mpr_live_runs(const struct mpr_live *live);
/* Reads what came since.  0, or -1 with *error filled: the log cannot be read on. */
int mpr_live_read(struct mpr_live *live, const struct mpr_progress *progress,
                  struct mpr_error *error);
/* What there is now. */
const struct mpr_live_look *mpr_live_look(struct mpr_live *live);

#endif
