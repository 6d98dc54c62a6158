/* Who held the bytes at the peak: the result behind `memprof-report peaks`.
 *
 * Everything in it lives until mpr_peaks_free.  Bytes are requested bytes; times are ns since the
 * process's start. */
#ifndef MPR_PEAKS_H
#define MPR_PEAKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "device.h"
#include "heap_names.h"
#include "instant.h"
#include "progress.h"
#include "reading.h"
#include "row.h"
#include "summary.h"

struct mpr_error;
struct mpr_reader;

/* Who wants to know more of a log than its peaks, of the same reading. */
struct mpr_peaks_guest {
    void (*begin)(void *arg, struct mpr_reader *reader); /* before the first event: to watch replay.
                                                            A log may be read more than once */
    void (*end)(void *arg, const struct mpr_reader *reader); /* after the last event of the last
                                                                reading */
    void *arg;
};

struct mpr_peaks_options {
    enum mpr_group by;
    const struct mpr_choice *choice; /* what AUTO stands for; NULL: it is found out */
    bool no_inherit;       /* threads without ranges do not take those of another thread */
    bool backward_of;      /* PyTorch's backward ranges stand below their forward operators' */
    uint8_t heap;          /* only this one; MPF_HEAP_NONE: all */
    enum mpr_order order;  /* of rows */
    struct mpr_instant at; /* what stands for the peak */
    bool only_then;        /* who held then is all that is asked for: of a log whose blocks are all
                              there, by a choice that is known, what comes later is not read */
    const struct mpr_peaks_guest *guest; /* NULL: nobody */
};

/* Memory of the process that no file backs, swapped out or not: an upper bound on how much of a
 * heap was touched while it held its peak. */
struct mpr_touched {
    uint64_t bytes, time; /* bytes MPF_UNKNOWN: not known, or another kind of heap */
    bool ever; /* true if the process never had more up to that time, false if only samples show it
                */
};

/* Which instance of a repeated range the peak is in: of the outermost one (repeats.h), or of
 * another where that is not open then. */
struct mpr_peak_instance {
    const char *name;     /* "step:8", or as the program numbers it, "step 7"; "": it is in none */
    bool numbered;        /* by the program */
    const char *range;    /* "step" */
    uint64_t number, of;  /* the 8th of 12 */
    uint64_t open;        /* instances of that range that were open, this one among them */
    bool beyond;          /* more ranges may have been open (follow.h) */
    struct mpr_path path; /* ranges that were open inside of it on its thread,
                                            outermost first */
};

struct mpr_heap_peak {
    uint8_t heap;
    uint64_t peak_bytes, peak_time, peak_blocks;
    uint64_t end_bytes, end_blocks;
    uint64_t allocations, frees, failures;
    uint64_t made_bytes; /* by allocations of the host's heaps, of which most may be freed */
    uint64_t failure_bytes, failure_time; /* the largest one that failed */
    unsigned failure_errno;
    uint64_t huge_failures; /* failed allocations of huge pages; `failures` leaves them out */
    uint64_t huge_failure_bytes, huge_failure_time;
    unsigned huge_failure_errno;
    uint8_t inside;      /* the heap whose bytes these are a part of: in no sum; MPF_HEAP_NONE */
    bool nested;         /* its bytes are in other heaps, too, whichever: in no sum */
    bool estimated;      /* from samples */
    bool is_about;       /* some of its blocks were counted now and then: its peak may be another */
    struct mpr_row *row; /* in the order that was asked for; their sum is peak_bytes */
    size_t rows;
    struct mpr_peak_instance instance;
    uint64_t by_library;        /* bytes at the peak that AUTO names by their library alone */
    uint64_t samples;           /* the rows are estimated from so many sampled blocks; 0: none is */
    struct mpr_touched sampled; /* the largest sample at the peak; without one, the same as touched
                                 */
    struct mpr_touched touched; /* at most; sampled, or more by the high-water mark */
    struct mpr_reading before[MPR_READ_SOURCES], after[MPR_READ_SOURCES]; /* around the peak */
    struct mpr_reading then[MPR_READ_SOURCES]; /* what held at the peak */
};

struct mpr_log_peaks {
    struct mpr_summary summary;
    struct mpr_instant at;    /* what stood for its peak */
    struct mpr_choice choice; /* what the rows are by; source "": as was asked for */
    const char *const *note;  /* call stacks: what names could not be found, and why */
    size_t notes;
    bool is_libdw_missing;      /* on this machine: native calls have no names */
    struct mpr_heap_peak *heap; /* largest peak first */
    size_t heaps;
    struct mpr_device *device; /* GPUs that the process used, by index */
    size_t devices;
    uint64_t peak_bytes; /* of the largest heap */
    struct mpr_reading largest[MPR_READ_SOURCES];
    uint64_t rss_high; /* high-water RSS; MPF_UNKNOWN */
    long parent;       /* index of the parent process's log; -1: not among these */
    long executed;     /* index of the log of the program that took its place in the process; -1 */
    size_t process;    /* index of the last program's log in its process */
    uint64_t process_peak, process_rss; /* in that log only: the largest of the process's programs,
                                           of the sum of heaps' peaks and of rss_high */
};

struct mpr_peaks {
    struct mpr_peaks_options options;
    struct mpr_arena arena;
    struct mpr_log_peaks *log; /* largest first */
    size_t logs, cap;
    uint64_t sum_of_peaks; /* of processes' own peaks at different times: an upper bound */
    uint64_t sum_of_rss;
};

void mpr_peaks_init(struct mpr_peaks *peaks, const struct mpr_peaks_options *options);
/* Reads one log.  0, or -1 with *error filled (the other logs stay good). */
int mpr_peaks_add(struct mpr_peaks *peaks, const char *path, const struct mpr_progress *progress,
                  struct mpr_error *error);
/* After the last log: sorts, finds parents, sums. */
void mpr_peaks_finish(struct mpr_peaks *peaks);
/* Sets parent, executed and process of each log.  mpr_peaks_finish calls it. */
void mpr_peaks_find_processes(struct mpr_peaks *peaks);
/* Returns the heap of the log, or NULL. */
const struct mpr_heap_peak *mpr_peaks_heap(const struct mpr_log_peaks *log, uint8_t heap);
/* Is one of the logs? */
bool mpr_peaks_incomplete(const struct mpr_peaks *peaks);
void mpr_peaks_free(struct mpr_peaks *peaks);

#endif
