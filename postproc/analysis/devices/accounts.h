/* A device's account over time: what each of its used bytes was at instants that are spread over
 * the run, at its peak, and where memory ran out.  Each as `peaks --at` has it; between two of them
 * nobody says.  Part of the result of timeline. */
#ifndef MPR_ACCOUNTS_H
#define MPR_ACCOUNTS_H

#include "arena.h"
#include "device.h"

struct mpr_reader;
struct mpr_segments_kept;

/* This list gives the page's, too (viewer/columns.mjs). */
#define MPR_ACCOUNT_KINDS(X) X(SPREAD, "spread") X(PEAK, "peak") X(OOM, "oom")
#define X(name, text)        MPR_ACCOUNT_##name,
enum mpr_account_kind { MPR_ACCOUNT_KINDS(X) };
#undef X
extern const char *const mpr_account_kind[];

struct mpr_account_instant {
    enum mpr_account_kind kind;
    uint64_t since, time; /* ns: so it was all the time from `since` (after its events) to `time` */
    uint64_t used;        /* bytes: the sum of the parts */
    bool measured;        /* somebody did; otherwise it is what was tracked */
};

/* One line of the accounts. */
struct mpr_account_part {
    const char *key, *name;
    int64_t *bytes; /* by instant */
};

struct mpr_device_account {
    unsigned index;
    const char *name, *uuid;
    uint64_t total; /* bytes of the device; MPF_UNKNOWN */
    struct mpr_account_instant *instant;
    size_t instants;
    struct mpr_account_part *part; /* those that are not always nothing */
    size_t parts;
};

/* Of a log that was read with instants (instants.h); peaks and lacks of memory between these times,
 * ns.  Sets *devices.  kept: gets the segments of instants, NULL: they are not wanted. */
struct mpr_device_account *mpr_accounts_make(struct mpr_arena *arena,
                                             const struct mpr_reader *reader, uint64_t from,
                                             uint64_t to, struct mpr_segments_kept *kept,
                                             size_t *devices);

#endif
