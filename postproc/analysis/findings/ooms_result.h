/* The story of each lack of memory: what was asked, what was there, who held it, and what would
 * have made it fit.  ooms.h makes it, and growth.c and host.c fill their parts of it: this header
 * is theirs and ooms.h's.  Lives until mpr_ooms_free. */
#ifndef MPR_OOMS_RESULT_H
#define MPR_OOMS_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "device.h"
#include "heap_names.h"
#include "insights.h"
#include "reading.h"
#include "row.h"
#include "summary.h"

/* Would it have fit, had these bytes been free as well?  missing: bytes that are short even then.
 */
struct mpr_fit {
    const char *key, *what, *how;
    uint64_t bytes, missing;
    bool fits;     /* it was computed that it would have */
    bool computed; /* false: the bytes are a bound, which is large enough */
};

/* A live block, for the list of the largest, which ends at so many. */
enum { MPR_OOM_BLOCKS = 20 };
struct mpr_oom_block {
    uint64_t bytes, age;
    struct mpr_path path;
};
/* All live blocks of one place; age: of the oldest, ns. */
struct mpr_oom_place {
    uint64_t bytes, blocks, largest, age;
    struct mpr_path path;
};

/* What grew, or shrank, between two instants: a range's bytes, or a named part of a device's
 * account.  Largest change first. */
/* key: of a part */
struct mpr_growth_row {
    const char *key; /* a part of the account, or NULL for a path */
    const struct mpr_frame *name;
    struct mpr_path path;
    int64_t before, after;
    bool estimated; /* from samples */
};
struct mpr_growth {
    bool valid;
    uint64_t time;          /* of the first instant */
    uint64_t before, after; /* in all */
    struct mpr_growth_row *row;
    size_t rows;
};

struct mpr_oom_story {
    uint64_t time, real_time; /* ns since the process's start; CLOCK_REALTIME, 0: not known */
    uint8_t heap;
    const char *thread, *library;
    struct mpr_path path, python; /* outermost first */
    unsigned index;               /* of the device */
    uint64_t bytes, needed; /* asked for; what PyTorch would have to get for it from the driver */
    uint64_t free, total, flushed; /* MPF_UNKNOWN where the driver was not asked */
    uint32_t attempts;             /* refusals of the driver; 0: PyTorch's own limit */
    bool hard, torch, capturing, inherited;
    struct mpr_device_state state;
    struct mpr_fit fit[8];
    size_t fits;
    struct mpr_oom_block *largest;
    size_t blocks;
    struct mpr_oom_place *place;
    size_t places;
    struct mpr_growth growth; /* since the last good peak */
    const char *good;         /* the range's instance that it was in, "step:11"; "": in none */
};

/* Allocations of host memory that failed in the same place in the same way. */
struct mpr_host_refusal {
    uint8_t heap;
    const char *thread;
    struct mpr_path path;
    uint64_t count, largest, time; /* time: of the newest, ns */
    unsigned error;                /* errno */
};

struct mpr_host_story {
    bool told;         /* there is something to tell: */
    bool killed, full; /* for want of memory, or nobody knows; the cgroup's charge is at its
                          limit */
    bool refused;      /* allocations failed, and it was not killed */
    uint64_t failures; /* allocations that failed */
    struct mpr_refused newest;
    uint64_t mark, end;       /* ns: what grew between them; refused: up to the newest refusal */
    struct mpr_growth growth; /* of live host memory, by range */
    struct mpr_reading rss_then, rss, cgroup; /* samples at the mark and at the end */
    struct mpr_reading limits;                /* the sample that says which limits held then */
    struct mpr_host_refusal *refusal;
    size_t refusals;
};

/* A process at the instant of the first failure of all. */
/* used, total: MPF_UNKNOWN */
struct mpr_then_device {
    const char *uuid, *name;
    unsigned index;
    uint64_t used, total, tracked, torch;
};
struct mpr_then {
    bool alive;             /* it ran then, and its log could be read again */
    uint64_t time;          /* ns since its own start */
    uint64_t host;          /* live bytes of host memory */
    struct mpr_reading rss; /* the newest sample then */
    struct mpr_then_device *device;
    size_t devices;
};

/* A device at that instant: what the processes hold of it. */
struct mpr_device_sum {
    const char *host, *uuid, *name;
    uint64_t used, total, tracked, torch;
    size_t processes;
};

struct mpr_ooms_log {
    struct mpr_summary summary;
    struct mpr_choice choice;    /* what the rows are by; source "": as was asked for */
    struct mpr_oom_story *story; /* in order of time */
    size_t stories, hard, soft;
    size_t undetailed; /* lacks of device memory without what was live then: of the newest it is
                          kept (MPR_OOM_PICTURES) */
    const struct mpr_device *device; /* for headings, by index */
    struct mpr_host_story host;
    struct mpr_then then;
    size_t run;    /* the place of its run: the newest that failed is 0, and is compared */
    bool executed; /* its process went on as another program, of which there is a log, too */
};

struct mpr_ooms {
    enum mpr_group by;
    bool backward_of; /* PyTorch's backward ranges stand below their forward operators' */
    struct mpr_arena arena;
    struct mpr_ooms_log *log; /* the run that is compared comes first, with the first process that
                                 failed; then other runs */
    size_t logs, cap;
    size_t runs, compared_logs; /* runs that have a log here; logs of the run that is compared */
    size_t processes;           /* in that run */
    bool compared;          /* that run has several processes, and log[0] failed at first_failure */
    uint64_t first_failure; /* CLOCK_REALTIME, ns */
    bool device_failure;    /* device memory ran out */
    struct mpr_device_sum *sum;
    size_t sums, failed;       /* failed: processes that did */
    struct mpr_growth against; /* the median of the other processes, and what the first to fail had,
                                  by range */
    size_t others;
    const struct mpr_ooms_log *explained; /* the first to fail, or at a loss; NULL: none, or it
                                             could not be read again */
    struct mpr_insights insights;         /* of that log, */
    struct mpr_processes family;          /* and of several all of them */
    struct mpr_peaks threads; /* what its threads held at the end of its story of host memory; no
                                 log: there is none */
};

#endif
