/* The memory of each instance of a repeated range: its peaks, and the bytes that it kept. This is
 * the result of `memprof-report steps`; other analyses use it too.
 *
 * Bytes are requested bytes; times are ns since the process's start.  Everything lives until
 * mpr_instances_free. */
#ifndef MPR_INSTANCES_H
#define MPR_INSTANCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "frame.h"
#include "heap_names.h"
#include "progress.h"
#include "row.h"
#include "summary.h"

struct mpr_error;

struct mpr_instances_options {
    const char *range; /* which one: its name or path ("outer > inner"), with or without the numbers
                          in it; NULL: the outermost one that repeats (repeats.h) */
    uint8_t heap;      /* only this one; MPF_HEAP_NONE: all */
};

/* An entry: one instance, or several consecutive ones if there are more than MPR_INSTANCES_MAX.
 * Then its peak is the largest of them; it begins with the first and ends with the last one. */
enum { MPR_INSTANCES_MAX = 8192 };
struct mpr_instance {
    uint64_t number; /* from 1 in order of beginning: the 12 of "--at step:12" */
    uint64_t count;
    const char *name; /* the first instance, with the program's number, "step 7", or else
                         "step:8"; with its path if the name alone is not unique */
    const char *last; /* the last instance */
    const char *thread;
    uint64_t begin_ns, end_ns;
    bool unended; /* the log ends before it does */
};

/* A heap in an entry. Bytes are requested bytes. */
struct mpr_instance_heap {
    uint64_t peak_bytes, peak_time;
    uint64_t peak_number;            /* number of the instance with the peak */
    uint64_t begin_bytes, end_bytes; /* live bytes at the begin and at the end: the instance kept
                                        the difference */
    uint64_t allocations;
};

struct mpr_instances_heap {
    uint8_t heap;
    uint8_t inside;                     /* the heap that includes these bytes, or MPF_HEAP_NONE */
    const struct mpr_instance_heap *of; /* by entry */
    uint64_t peak_bytes;                /* of all instances */
};

struct mpr_instances {
    struct mpr_summary summary;
    struct mpr_arena arena;
    const char *range;    /* "step", or the end of its path that makes it unique; "" if no range
                             repeats */
    struct mpr_path path; /* the range's path, outermost first, without numbers */
    struct mpr_instance *instance;
    size_t instances;
    uint64_t count;    /* of all instances */
    uint64_t each;     /* instances in an entry; the last entry may have fewer */
    bool gaps;         /* most of the time is between the instances of a range that was not named by
                          the user */
    uint64_t left_out; /* instances whose ends are unknown because too many were open at a time:
                          they have the live bytes of their begin */
    struct mpr_instances_heap *heap; /* largest peak first */
    size_t heaps;
};

/* The initial value, without instances. */
extern const struct mpr_instances mpr_instances_none;
/* Reads one log. *choice: the grouping for AUTO in it. Returns 0, or -1 with *error filled, also if
 * the range does not exist. */
int mpr_instances_read(struct mpr_instances *out, struct mpr_choice *choice, const char *path,
                       const struct mpr_instances_options *options,
                       const struct mpr_progress *progress, struct mpr_error *error);
void mpr_instances_free(struct mpr_instances *instances);

/* The same for a caller that replays the log for other analyses as well. */
struct mpr_reader;
struct mpr_instances_reading;
/* Starts to measure the instances of a range. Call it before the first event. @range: the name of
 * the range, or NULL to measure every range that may be the outermost one that repeats: the caller
 * has set reader->repeats in that case. */
struct mpr_instances_reading *mpr_instances_watch(struct mpr_reader *reader, const char *range);
/* Fills the result for a range by its number in reader->repeats, after the last event. Returns
 * false if it has not been measured, or if its name is also that of other ranges. */
bool mpr_instances_take_repeat(struct mpr_instances *out, struct mpr_instances_reading *reading,
                               const struct mpr_reader *reader, const char *path, uint32_t repeat,
                               uint8_t heap);
void mpr_instances_end(struct mpr_instances_reading *reading); /* may be NULL */

/* Returns the name of the instance with the peak of an entry; if the entry has several, "step:12",
 * as
 * --at takes it. It lives in the arena, or as long as the instances. */
const char *mpr_instances_at_peak(struct mpr_arena *arena, const struct mpr_instances *instances,
                                  const struct mpr_instances_heap *heap, size_t entry);

#endif
