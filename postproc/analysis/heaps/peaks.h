/* The owners of the bytes at the peak: the result of `memprof-report peaks`.
 *
 * Everything in it lives until mpr_peaks_free. Bytes are requested bytes; times are ns since the
 * process's start. */
#ifndef MPR_PEAKS_H
#define MPR_PEAKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "device.h"
#include "heap_names.h"
#include "info.h"
#include "instant.h"
#include "progress.h"
#include "reading.h"
#include "resident.h"
#include "row.h"
#include "summary.h"

struct mpr_error;
struct mpr_projection;
struct mpr_reader;

struct mpr_peaks_options {
    enum mpr_group by;
    const struct mpr_choice *choice; /* the grouping for AUTO, or NULL to choose it from the log */
    bool no_inherit;      /* threads without ranges do not inherit those of another thread */
    bool all_bytes;       /* rows have the bytes of all their blocks, and threads their lifetimes */
    bool backward_of;     /* PyTorch's backward ranges become children of their forward operators */
    uint8_t heap;         /* MPF_HEAP_NONE: all */
    enum mpr_order order; /* of rows */
    struct mpr_instant at; /* the instant to report instead of the peak */
};

/* An upper bound on how much of a heap was touched while it held its peak: the process's memory
 * without files, including swapped memory. */
struct mpr_touched {
    uint64_t bytes, time; /* bytes: MPF_UNKNOWN if unknown, and for heaps that are neither host/heap
                             nor host/mmap */
    bool ever; /* true if it is from the high-water mark, which covers all of the time; false if it
                  is from samples */
};

/* The instance of a repeated range that was open at the peak: of the outermost range
 * (repeats.h), or of another one if no instance of that was open. */
struct mpr_peak_instance {
    const char *name;     /* "step 7" if the program numbers it, else "step:8"; or "" */
    bool numbered;        /* the program numbers the instances */
    const char *range;    /* "step" */
    uint64_t number, of;  /* the 8th of 12 */
    uint64_t open;        /* open instances of that range at the peak, including this one */
    bool beyond;          /* more instances may have been open than could be followed (repeats.h) */
    struct mpr_path path; /* ranges that were open inside it on its thread, outermost first */
};

/* A row by thread. */
struct mpr_thread_row {
    struct mpr_row row;
    struct mpr_info_thread life;
    uint64_t end_blocks;
};

struct mpr_heap_peak {
    uint8_t heap;
    uint64_t peak_bytes, peak_time, peak_blocks;
    uint64_t end_bytes, end_blocks;
    uint64_t allocations, frees, failures;
    uint64_t made_bytes; /* bytes of all blocks of the host's heaps, including freed ones */
    uint64_t failure_bytes, failure_time; /* the largest failed allocation */
    unsigned failure_errno;
    uint64_t huge_failures; /* failed allocations of huge pages; not in `failures` */
    uint64_t huge_failure_bytes, huge_failure_time;
    unsigned huge_failure_errno;
    uint8_t inside; /* the heap that includes these bytes, or MPF_HEAP_NONE; sums must not count
                       them twice */
    bool nested;    /* its bytes are also in other heaps; sums must not count them */
    bool estimated; /* from samples */
    bool is_approximate; /* its peak is approximate, because some blocks were only counted from time
                            to time */
    struct mpr_row *row; /* in options.order; their bytes sum to peak_bytes */
    size_t rows;
    struct mpr_thread_row *thread; /* the same rows with the lifetimes of their threads, or NULL */
    struct mpr_peak_instance instance;
    uint64_t by_library; /* bytes at the peak whose only name by AUTO is their library */
    uint64_t samples;    /* number of sampled blocks from which the rows are estimated, or 0 */
    struct mpr_touched sampled; /* by the samples while the heap held its peak; without one, the
                                   same as touched */
    struct mpr_touched touched; /* `sampled`, or the high-water mark if that is larger */
    struct mpr_reading before[MPR_READ_SOURCES], after[MPR_READ_SOURCES]; /* around the peak */
    struct mpr_reading then[MPR_READ_SOURCES];                            /* valid at the peak */
};

/* The large blocks and mappings of one call site or range, and their resident bytes. */
struct mpr_resident_owner {
    struct mpr_path path;
    uint64_t bytes, resident, huge; /* huge: the resident part in huge pages */
    uint32_t cell;
};

struct mpr_log_peaks {
    struct mpr_summary summary;
    struct mpr_instant at;    /* the instant that is reported instead of the peak */
    struct mpr_choice choice; /* the grouping of the rows; its source is "" if the user chose it */
    const char *const *note;  /* sentences about names that were not found, and the reasons */
    size_t notes;
    bool is_libdw_missing; /* libdw is missing on this machine, so native calls have no names */
    struct mpr_heap_peak *heap; /* largest peak first */
    size_t heaps;
    struct mpr_device *device; /* GPUs that the process used, by index */
    size_t devices;
    uint64_t peak_bytes; /* the largest heap's */
    struct mpr_reading largest[MPR_READ_SOURCES];
    uint64_t rss_high; /* the high-water mark of RSS, or MPF_UNKNOWN */
    struct mpr_reading_peak rss_peak, cgroup_peak;
    struct mpr_resident resident;
    struct mpr_resident_owner *owner; /* at the time of `resident`, most resident bytes first */
    size_t owners;
    struct mpr_info_thread *thread; /* all threads, by number, if the rows have threads */
    size_t threads;
    long parent;    /* index of the parent process's log, or -1 */
    long executed;  /* index of the log of the program that the process executed next, or -1 */
    size_t process; /* index of the log of the process's last program */
    uint64_t process_peak, process_rss; /* only in the log of the last program: the largest sum of
                                           the heaps' peaks, and the largest rss_high, of the
                                           process's programs */
};

struct mpr_peaks {
    struct mpr_peaks_options options;
    struct mpr_arena arena;
    struct mpr_log_peaks *log; /* largest first */
    size_t logs, cap;
    uint64_t sum_of_peaks; /* sum of the processes' peaks: an upper bound, because they may be at
                              different times */
    uint64_t sum_of_rss;
};

void mpr_peaks_init(struct mpr_peaks *peaks, const struct mpr_peaks_options *options);
/* Reads one log. Returns 0, or -1 with *error filled; the other logs stay valid. */
int mpr_peaks_add(struct mpr_peaks *peaks, const char *path, const struct mpr_progress *progress,
                  struct mpr_error *error);
/* The same for a caller that observes the replay for other analyses. @begin is called before the
 * first event, @end after the last one, while the reader's accounts are by the grouping of the
 * rows; @projection has the accounts of which they are sums (projection.h). Either may be NULL. */
struct mpr_peaks_observer {
    void (*begin)(void *arg, struct mpr_reader *reader);
    void (*end)(void *arg, const struct mpr_reader *reader,
                const struct mpr_projection *projection);
    void *arg;
};
int mpr_peaks_add_observed(struct mpr_peaks *peaks, const char *path,
                           const struct mpr_peaks_observer *observer,
                           const struct mpr_progress *progress, struct mpr_error *error);
/* Call it after the last log: sorts, finds parents, computes sums. */
void mpr_peaks_finish(struct mpr_peaks *peaks);
/* Sets parent, executed and process of each log.  mpr_peaks_finish calls it. */
void mpr_peaks_find_processes(struct mpr_peaks *peaks);
/* Adds a log that the caller has replayed by the grouping of @choice and with mpr_repeats_watch.
 * For other analyses of this layer. */
void mpr_peaks_take(struct mpr_peaks *peaks, const struct mpr_reader *reader, const char *path,
                    const struct mpr_choice *choice);
/* Fills the rows of a heap from a finished replay. For other analyses of this layer. */
void mpr_peaks_fill_rows(struct mpr_peaks *peaks, const struct mpr_reader *reader, uint8_t heap,
                         struct mpr_heap_peak *out);
/* Returns the heap of the log, or NULL. */
const struct mpr_heap_peak *mpr_peaks_heap(const struct mpr_log_peaks *log, uint8_t heap);
/* Returns true if a report on a program without a GPU should begin with resident memory: if its
 * peak differs by a quarter from the bytes of the heaps, or a heap was a quarter larger than
 * resident memory at its peak. */
bool mpr_peaks_rss_leads(const struct mpr_log_peaks *log);
/* Returns true if PyTorch used a device. */
bool mpr_peaks_has_torch(const struct mpr_log_peaks *log);
/* Returns true if one of the logs is incomplete. */
bool mpr_peaks_incomplete(const struct mpr_peaks *peaks);
void mpr_peaks_free(struct mpr_peaks *peaks);

#endif
