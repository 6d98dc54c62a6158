/* Running processes: the result behind `memprof-report top`.
 *
 * The log of each process is read on from where the last look stopped.  The result of a look lives
 * until the next look.  Bytes are requested bytes; times are ns since the process's start. */
#ifndef MPR_TOP_H
#define MPR_TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device.h"
#include "growth.h"
#include "progress.h"
#include "reading.h"
#include "row.h"
#include "summary.h"

struct mpr_error;

struct mpr_live_options {
    enum mpr_group by; /* grouping of the owners; AUTO is decided at the first look */
    uint8_t heap; /* the heap whose owners are shown, or MPF_HEAP_NONE for the largest: PyTorch's
                     blocks, not their segments */
};

struct mpr_live_heap {
    uint8_t heap, inside; /* inside: the heap that includes these bytes, or MPF_HEAP_NONE */
    uint64_t bytes, blocks, peak_bytes, peak_time;
    uint64_t allocations; /* per second since the last look; MPF_UNKNOWN at the first look */
    int64_t grew;         /* bytes, in span_ns */
    bool estimated;
};

/* A thread with open ranges. */
struct mpr_live_thread {
    const char *name;
    struct mpr_path path; /* outermost first */
};

/* The outermost repeated range, which shows the program's steps (repeats.h). */
struct mpr_live_step {
    const char *range;  /* "" if none repeats */
    uint64_t instances; /* that have begun */
    uint64_t each_ns;   /* their mean duration */
    uint64_t open_ns;   /* since the newest one began; MPF_UNKNOWN if it has ended */
};

struct mpr_live_look {
    struct mpr_summary summary;
    struct mpr_choice choice;
    uint64_t now_ns;          /* the end of the log so far */
    uint64_t events_a_second; /* since the last look; MPF_UNKNOWN at the first look */
    uint64_t span_ns; /* the time of growth: a minute, or since the first look if that is less */
    struct mpr_reading rss;         /* the newest sample */
    uint64_t host_bytes, gpu_bytes; /* live bytes of the host's heaps and of all devices */
    int64_t host_grew;
    struct mpr_live_heap *heap; /* largest first */
    size_t heaps;
    uint8_t shown;  /* the heap of the owners; MPF_HEAP_NONE if nothing is live */
    uint64_t whole; /* its bytes */
    struct mpr_row *row;
    size_t rows;
    struct mpr_growth growth;  /* growth of the same heap */
    struct mpr_device *device; /* as they are now: `peak` is this instant */
    size_t devices;
    struct mpr_live_step step;
    struct mpr_live_thread *thread; /* the first ones by number */
    size_t threads;
    size_t more_threads; /* other threads with open ranges */
};

/* The caller sets the options; the other members are zero at first. */
struct mpr_top {
    struct mpr_live_options options;
    struct mpr_top_log {
        char *path;
        struct mpr_live *live; /* NULL if its process has ended, or it cannot be read on */
        bool kept;             /* it is shown even after its process has ended */
        bool seen;             /* at an earlier look */
    } * log;
    size_t logs, cap;
    size_t gone;         /* logs of processes that ended, which are no longer shown */
    const char *in_full; /* the log that is shown in full, or NULL for the largest */
    bool next;           /* show the next one in full */
    struct mpr_arena arena;
    const struct mpr_live_look **process; /* the newest look, by host and device bytes */
    size_t processes, shown;              /* shown: the one in full */
};

/* Follows a log from now on, unless it is followed already.  @even_ended: also if its process has
 * ended.  Returns 0, or -1 with *error filled. */
int mpr_top_add(struct mpr_top *top, const char *path, bool even_ended, struct mpr_error *error);
/* Reads on in all logs.  A process that ended is shown once more.  @failed is called for each log
 * that cannot be read on, which is left out from then on. */
void mpr_top_look(struct mpr_top *top, const struct mpr_progress *progress,
                  void (*failed)(const struct mpr_error *error));
void mpr_top_free(struct mpr_top *top);

#endif
