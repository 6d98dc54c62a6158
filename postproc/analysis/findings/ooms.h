/* The report of each out-of-memory event, of `memprof-report oom`: the request, the free memory,
 * the owners, and the changes with which the request would have fit.  Lives until mpr_ooms_free. */
#ifndef MPR_OOMS_H
#define MPR_OOMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "device.h"
#include "growth.h"
#include "heap_names.h"
#include "insights.h"
#include "progress.h"
#include "reading.h"
#include "row.h"
#include "summary.h"

struct mpr_error;

/* A change, and whether the request would fit if its bytes were also free. */
enum mpr_fit_kind {
    MPR_FIT_SPLIT_FREE,
    MPR_FIT_GRAPH_POOLS,
    MPR_FIT_CACHE,
    MPR_FIT_COMMUNICATOR,
    MPR_FIT_LOCAL_MEMORY,
    MPR_FITS
};
struct mpr_fit {
    enum mpr_fit_kind kind;
    uint64_t bytes;
    uint64_t missing; /* bytes that are not free even then */
    bool fits;        /* the computation says that it would fit */
    bool computed;    /* false: the bytes are only an upper bound, and large enough */
    bool replayed;    /* computed by a replay of PyTorch's allocator with expandable segments */
};

/* One of the largest live blocks. */
enum { MPR_OOM_BLOCKS = 20 };
struct mpr_oom_block {
    uint64_t bytes, age;
    struct mpr_path path;
};
/* All live blocks of one call site; age: of the oldest, ns. */
struct mpr_oom_place {
    uint64_t bytes, blocks, largest, age;
    struct mpr_path path;
};

struct mpr_oom_event {
    uint64_t time, real_time; /* ns since the process's start; CLOCK_REALTIME, or 0 if unknown */
    uint8_t heap;
    const char *thread, *library;
    struct mpr_path path, python; /* outermost first */
    unsigned index;               /* of the device */
    uint64_t bytes, needed; /* the request; the bytes that PyTorch needs from the driver for it */
    uint64_t free, total, flushed; /* MPF_UNKNOWN if the driver was not asked */
    uint32_t attempts;             /* refusals of the driver, or 0 if PyTorch's limit was reached */
    bool hard, torch, capturing, inherited;
    struct mpr_device_state state;
    struct mpr_fit fit[MPR_FITS];
    size_t fits;
    struct mpr_oom_block *largest;
    size_t blocks;
    struct mpr_oom_place *place;
    size_t places;
    struct mpr_growth growth; /* since the last good peak */
    const char *good;         /* its instance of the range, "step:11", or "" */
};

struct mpr_host_oom {
    bool told;         /* there is a report: */
    bool killed, full; /* killed, maybe out of memory; the cgroup is at its limit */
    bool refused;      /* allocations failed, and it was not killed */
    uint64_t failures; /* allocations that failed */
    struct mpr_refused_request newest;
    uint64_t mark, end;       /* ns: the interval of `growth`; end: the newest refusal if refused */
    struct mpr_growth growth; /* of live host memory, by range */
    struct mpr_reading rss_then, rss, cgroup; /* samples at the mark and at the end */
    struct mpr_reading limits;                /* the sample with the limits of that time */
    struct mpr_refused_request *refusal;      /* by place, thread and error */
    size_t refusals;
};

/* A process at the instant of the first failure of all. */
struct mpr_failure_device {
    const char *uuid, *name;
    unsigned index;
    uint64_t used, total; /* MPF_UNKNOWN if not measured */
    uint64_t tracked, torch;
};
struct mpr_failure_state {
    bool alive;             /* it ran at that time, and its log was read again */
    uint64_t time;          /* ns since its own start */
    uint64_t host;          /* live bytes of host memory */
    struct mpr_reading rss; /* the newest sample at that time */
    struct mpr_failure_device *device;
    size_t devices;
    uint64_t bytes; /* live bytes of the host and all devices */
};

/* A device at that instant, and the bytes that the processes hold of it. */
struct mpr_device_sum {
    const char *host, *uuid, *name;
    uint64_t used, total, tracked, torch;
    size_t processes;
};

struct mpr_ooms_log {
    struct mpr_summary summary;
    struct mpr_choice choice;    /* the grouping of the rows; source "": the user chose it */
    struct mpr_oom_event *story; /* in order of time */
    size_t stories, hard, soft;
    size_t undetailed; /* older events, without the blocks that were live (MPR_OOM_SNAPSHOTS) */
    const struct mpr_device *device; /* for headings, by index */
    struct mpr_host_oom host;
    uint64_t failed; /* the first OOM event or the kill, CLOCK_REALTIME ns; UINT64_MAX: neither */
    bool failed_on_device;
    struct mpr_failure_state at_failure;
    size_t run;    /* the number of its run: the newest that failed is 0, and is compared */
    bool executed; /* its process executed another program that has a log */
};

struct mpr_ooms {
    enum mpr_group by;
    bool backward_of; /* PyTorch's backward ranges become children of their forward operators */
    struct mpr_arena arena;
    struct mpr_ooms_log *log; /* the compared run first, with the first process that failed; then
                                 other runs */
    size_t logs, cap;
    size_t runs, compared_logs; /* runs among the logs; logs of the compared run */
    size_t processes;           /* in that run */
    bool compared;          /* the run has several processes, and log[0] failed at first_failure */
    uint64_t first_failure; /* CLOCK_REALTIME, ns */
    bool device_failure;    /* device memory ran out */
    struct mpr_device_sum *sum;
    size_t sums, failed;       /* failed: processes that failed */
    struct mpr_growth against; /* from the median of the other processes to the first that failed,
                                  by range */
    size_t others;
    const struct mpr_ooms_log *explained; /* the log that failed first, or NULL if none did or it
                                             could not be read */
    struct mpr_insights insights;         /* of that log */
    struct mpr_processes family;          /* all logs, if there are several */
    struct mpr_peaks threads; /* bytes of its threads at the end of the host's report; has no log
                                 without one */
};

/* Reads one log.  Returns 0, or -1 with *error filled; the other logs stay valid. */
int mpr_ooms_add(struct mpr_ooms *ooms, const char *path, const struct mpr_progress *progress,
                 struct mpr_error *error);
/* Call it after the last log.  Finds the process that failed first, reads the logs once more up to
 * that instant, and reads the insights of the log that failed. */
void mpr_ooms_finish(struct mpr_ooms *ooms, const struct mpr_progress *progress);
void mpr_ooms_free(struct mpr_ooms *ooms);

#endif
