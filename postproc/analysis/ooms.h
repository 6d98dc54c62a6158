/* The story of each lack of memory: what was asked, what was there, who held it, and what would have made it fit.  The result
 * behind `memprof-report oom`.  Lives until mpr_ooms_free. */
#ifndef MPR_OOMS_H
#define MPR_OOMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "device.h"
#include "peaks.h"
#include "progress.h"
#include "summary.h"

struct mpr_error;

/* Would it have fit, had these bytes been free as well?  missing: bytes that are short even then. */
struct mpr_fit { const char *key, *what, *how; uint64_t bytes, missing; bool fits; };

/* A live block, for the list of the largest. */
struct mpr_oom_block { uint64_t bytes, age; const char *const *path; size_t depth; };

struct mpr_oom_story {
    uint64_t time, real_time;           /* ns since the process's start; CLOCK_REALTIME, 0: not known */
    const char *heap, *thread, *library;
    const char *const *path, *const *python;    /* outermost first */
    size_t depth, python_depth;
    unsigned index;                     /* of the device */
    uint64_t bytes, needed;             /* asked for; what PyTorch would have to get for it from the driver */
    uint64_t free, total, flushed;      /* MPF_UNKNOWN where the driver was not asked */
    uint32_t attempts;                  /* refusals of the driver; 0: PyTorch's own limit */
    bool hard, torch, capturing, inherited;
    struct mpr_device_state state;
    struct mpr_fit fit[8];
    size_t fits;
    struct mpr_oom_block *largest;
    size_t blocks;
};

struct mpr_ooms_log {
    struct mpr_summary summary;
    struct mpr_choice choice;           /* what the rows are by; source "": as was asked for */
    struct mpr_oom_story *story;        /* in order of time */
    size_t stories, hard, soft;
    const struct mpr_device *device;    /* for headings, by index */
    uint64_t host_failures, host_largest, host_error;   /* failed allocations of host memory: how many, the largest, its errno */
    struct mpr_reading cgroup, rss;     /* the newest samples */
};

struct mpr_ooms { enum mpr_group by; struct mpr_arena arena; struct mpr_ooms_log *log; size_t logs, cap; };

/* Reads one log.  0, or -1 with *error filled (the other logs stay good). */
int mpr_ooms_add(struct mpr_ooms *ooms, const char *path, const struct mpr_progress *progress, struct mpr_error *error);
/* After the last: who failed first comes first. */
void mpr_ooms_finish(struct mpr_ooms *ooms);
void mpr_ooms_free(struct mpr_ooms *ooms);

#endif
