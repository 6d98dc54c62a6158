/* The device memory that PyTorch would have reserved with other settings of its allocator: the
 * result of `memprof-report what-if`.
 *
 * The requests of a log are replayed in a model of the allocator (caching_allocator.h).  First with
 * the run's own settings: the model must give every block its recorded address, and take and
 * release the recorded segments.  Only then its answer for other settings counts.
 *
 * A log has the sizes of blocks, not of requests, and not the addresses that the driver would give.
 * So several replays run at once, which assume different sizes and addresses.  The result is the
 * span of their peaks.
 *
 * A run with other settings may take another path, for example if it would not run out of memory.
 * Times are ns since the process's start. */
#ifndef MPR_WHAT_IF_H
#define MPR_WHAT_IF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "caching_settings.h"
#include "progress.h"
#include "summary.h"

struct mpr_error;

struct mpr_what_if_options {
    struct mpr_caching_settings settings; /* what if the run had had these */
    const char *text;                     /* the same, as the user wrote them */
    /* The settings that it had.  NULL: the defaults, with expandable segments if the log has some.
     */
    const struct mpr_caching_settings *recorded;
};

/* Whether all replays agree. */
enum mpr_what_if_answer {
    MPR_WHAT_IF_NO,
    MPR_WHAT_IF_MAYBE, /* some of them */
    MPR_WHAT_IF_YES,
    MPR_WHAT_IF_UNKNOWN /* the device's free memory is not in the log */
};

struct mpr_what_if_span {
    uint64_t low, high; /* bytes */
};

/* An out-of-memory error of PyTorch that the log has. */
struct mpr_what_if_oom {
    uint64_t time, bytes;             /* bytes: of the request */
    enum mpr_what_if_answer fits;     /* with the other settings */
    struct mpr_what_if_span missing;  /* bytes that it would have needed in addition */
    struct mpr_what_if_span reserved; /* after the request */
};

struct mpr_what_if_device {
    unsigned index;
    const char *name;
    /* NULL, or why the log cannot be replayed, as a clause.  Then only the recorded members are
     * valid. */
    const char *refused;
    uint64_t refused_ns; /* the time of the first difference, or UINT64_MAX */
    uint64_t allocations;
    uint64_t inexact; /* allocations whose request may have been smaller than the block */
    struct {
        uint64_t reserved, allocated; /* peaks */
        uint64_t time;                /* when `reserved` was reached */
    } recorded;
    uint64_t estimate; /* the peak of reserved bytes with the other settings, if each request had
                        * the size of its block */
    struct mpr_what_if_span reserved; /* the same in all replays */
    uint64_t time;                    /* of that peak, of the replay with the largest */
    uint64_t replays;
    /* Whether all requests that the run was served would be. */
    enum mpr_what_if_answer fits;
    uint64_t failed_ns, failed_bytes; /* the first request that would not, if fits is not YES */
    uint64_t room; /* the least bytes of the device that remain free, in any replay; UINT64_MAX:
                    * unknown */
    struct mpr_what_if_oom *oom;
    size_t ooms;
};

struct mpr_what_if {
    struct mpr_what_if_options options;
    struct mpr_arena arena;
    struct mpr_summary summary;
    struct mpr_what_if_device *device; /* those that PyTorch has blocks on */
    size_t devices;
};

/* Reads one log.  Returns 0, or -1 with *error filled and nothing to free. */
int mpr_what_if_read(struct mpr_what_if *result, const char *path,
                     const struct mpr_what_if_options *options, const struct mpr_progress *progress,
                     struct mpr_error *error);
void mpr_what_if_free(struct mpr_what_if *result);

#endif
