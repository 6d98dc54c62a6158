/* What each instance of a repeated range took, and left behind: the result behind `memprof-report
 * steps`, and what other analyses ask about steps.
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
#include "instance_heap.h"
#include "progress.h"
#include "summary.h"

struct mpr_error;

struct mpr_instances_options {
    const char *range; /* which one: its name or path ("outer > inner"), with or without the numbers
                          in it; NULL: the outermost one that repeats (repeats.h) */
    uint8_t heap;      /* only this one; MPF_HEAP_NONE: all */
};

/* One instance; of more than MPR_INSTANCES_MAX, several in a row: their peak is the largest, and
 * they begin with the first and end with the last of them. */
enum { MPR_INSTANCES_MAX = 8192 };
struct mpr_instance {
    uint64_t number; /* from 1 in order of beginning: the 12 of "--at step:12" */
    uint64_t count;
    const char *name; /* the first one's: as the program numbers it, "step 7", or else "step:8";
                         with its path where that tells several apart */
    const char *last; /* the last one's name; of one instance the same */
    const char *thread;
    uint64_t begin_ns, end_ns;
    bool unended; /* the log ends before it does */
};

struct mpr_instances_heap {
    uint8_t heap;
    uint8_t inside; /* the heap whose bytes these are a part of; MPF_HEAP_NONE */
    const struct mpr_instance_heap *of; /* by instance */
    uint64_t peak_bytes;                /* of all instances */
};

struct mpr_instances {
    struct mpr_summary summary;
    struct mpr_arena arena;
    const char *range;    /* "step", or as much of its path as tells it; "": none repeats */
    struct mpr_path path; /* its path, outermost first, numbers aside */
    struct mpr_instance *instance;
    size_t instances;
    uint64_t count;    /* of all instances */
    uint64_t each;     /* instances that an entry stands for; the last one maybe for fewer */
    bool gaps;         /* nobody named the range, and most of the time lies between its instances */
    uint64_t left_out; /* too many were open at a time: these have what was live when they began,
                          for their ends are not known */
    struct mpr_instances_heap *heap; /* largest peak first */
    size_t heaps;
};

/* What none of them is in: to begin with. */
extern const struct mpr_instances mpr_instances_none;
/* Reads one log.  0, or -1 with *error filled: there is no such range. */
int mpr_instances_read(struct mpr_instances *out, const char *path,
                       const struct mpr_instances_options *options,
                       const struct mpr_progress *progress, struct mpr_error *error);
void mpr_instances_free(struct mpr_instances *instances);

/* Of one range, beside what else is asked for in a reading. */
struct mpr_reader;
struct mpr_instances_reading;
struct mpr_instances_reading *mpr_instances_begin(const char *range);
/* Before the first event: to watch replay, beside who does so already. */
void mpr_instances_watch(struct mpr_instances_reading *reading, struct mpr_reader *reader);
/* After the last one, once, as mpr_instances_read. */
int mpr_instances_take(struct mpr_instances *out, struct mpr_instances_reading *reading,
                       const struct mpr_reader *reader, const char *path, uint8_t heap,
                       struct mpr_error *error);
void mpr_instances_end(struct mpr_instances_reading *reading); /* NULL: nothing */

/* The instance that has the peak of an entry: its name, or of several "step:12", as --at takes it.
 * In the arena, or as long as the instances. */
const char *mpr_instances_at_peak(struct mpr_arena *arena, const struct mpr_instances *instances,
                                  const struct mpr_instances_heap *heap, size_t entry);

#endif
