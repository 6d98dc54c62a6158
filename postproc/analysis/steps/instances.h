/* The memory of each instance of a repeated range: its peak, and the bytes that it kept.  Part of
 * the result of `memprof-report steps`.
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
    const char *range; /* name or path ("outer > inner") of the range, with or without the numbers
                          in it; NULL: the outermost range that repeats (repeats.h) */
    uint8_t heap;      /* only this heap; MPF_HEAP_NONE: all */
};

/* An entry: one instance, or several consecutive ones if there are more than MPR_INSTANCES_MAX.
 * The peak of several is the largest of their peaks. */
enum { MPR_INSTANCES_MAX = 8192 };
struct mpr_instance {
    uint64_t number; /* number of the first one, from 1 by begin: the 12 of "--at step:12" */
    uint64_t count;
    const char *name; /* name of the first one: "step 7" if the program numbers it, otherwise
                         "step:8"; with its path if the name alone is not unique */
    const char *last; /* name of the last one */
    const char *thread;
    uint64_t begin_ns, end_ns;
    bool unended; /* one of them had not ended when the log ended */
};

/* A heap in an entry. */
struct mpr_instance_heap {
    uint64_t peak_bytes, peak_time;
    uint64_t peak_number;            /* number of the instance with the peak */
    uint64_t begin_bytes, end_bytes; /* live bytes; the instance kept the difference */
    uint64_t allocations;
};

struct mpr_instances_heap {
    uint8_t heap;
    uint8_t inside; /* the heap that includes these bytes, or MPF_HEAP_NONE */
    const struct mpr_instance_heap *entry;
    uint64_t peak_bytes; /* the largest peak of an instance */
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
    bool gaps;         /* the user did not name the range, and most of the time is between its
                          instances */
    uint64_t left_out; /* instances whose ends are unknown, because too many were open at a time.
                          Their end_bytes are those of their begin. */
    struct mpr_instances_heap *heap; /* largest peak first */
    size_t heaps;
};

/* The initial value, without instances. */
extern const struct mpr_instances mpr_instances_none;
/* Reads one log.  Sets *choice to the grouping for AUTO.  Returns 0, or -1 with *error filled, also
 * if the range does not exist. */
int mpr_instances_read(struct mpr_instances *out, struct mpr_choice *choice, const char *path,
                       const struct mpr_instances_options *options,
                       const struct mpr_progress *progress, struct mpr_error *error);
void mpr_instances_free(struct mpr_instances *instances);

/* The same for a caller that also replays the log for other analyses. */
struct mpr_reader;
struct mpr_instances_reading;
/* Starts to measure the instances of a range.  Call it before the first event.  @range: name of the
 * range, or NULL to measure all ranges that may be the outermost one that repeats; then the caller
 * must have set reader->repeats. */
struct mpr_instances_reading *mpr_instances_watch(struct mpr_reader *reader, const char *range);
/* Fills the result for the range with number @repeat in reader->repeats, after the last event.
 * Returns false if it was not measured, or if other ranges have the same name. */
bool mpr_instances_take_repeat(struct mpr_instances *out, struct mpr_instances_reading *reading,
                               const struct mpr_reader *reader, const char *path, uint32_t repeat,
                               uint8_t heap);
void mpr_instances_end(struct mpr_instances_reading *reading); /* may be NULL */

/* Returns the name of the instance with the peak of an entry: "step:12", which --at accepts, if the
 * entry has several.  It lives in the arena, or as long as the instances. */
const char *mpr_instances_at_peak(struct mpr_arena *arena, const struct mpr_instances *instances,
                                  const struct mpr_instances_heap *heap, size_t entry);

#endif
