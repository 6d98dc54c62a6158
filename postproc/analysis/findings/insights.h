/* Findings that are worth a change: the result of `memprof-report insights`, and of the summary.
 * Lives until mpr_insights_free.
 *
 * Each finding has the numbers of the log that it rests on.  A finding is left out if the log shows
 * that its advice is already followed: expandable segments, gradients within buckets, one pool for
 * all graphs.  No log has settings of the environment alone (garbage_collection_threshold,
 * MALLOC_ARENA_MAX), so these may be in force. */
#ifndef MPR_INSIGHTS_H
#define MPR_INSIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "breakdown.h"
#include "leaks.h"
#include "peaks.h"
#include "processes.h"
#include "reading.h"
#include "steps.h"

struct mpr_error;

/* A number that a finding rests on. */
struct mpr_fact {
    const char *key;
    bool bytes; /* else a count */
    uint64_t value;
};

enum { MPR_FACTS_MOST = 6 };

/* X(NAME, "key"), in the order of the keys, which are a contract that memprof-report(1) lists. */
#define MPR_FINDINGS(X)                                                                            \
    X(CACHE, "cache")                                                                              \
    X(COPIED_PAGES, "copied_pages")                                                                \
    X(DOUBLED_COMMUNICATORS, "doubled_communicators")                                              \
    X(FRAGMENTATION, "fragmentation")                                                              \
    X(GRADIENT_COPIES, "gradient_copies")                                                          \
    X(GRAPH_POOLS, "graph_pools")                                                                  \
    X(GRAPH_POOLS_FREE, "graph_pools_free")                                                        \
    X(GROWTH, "growth")                                                                            \
    X(IDLE_COMMUNICATORS, "idle_communicators")                                                    \
    X(INSTANCE, "instance")                                                                        \
    X(LOCAL_MEMORY, "local_memory")                                                                \
    X(OPTIMIZER_STATE, "optimizer_state")                                                          \
    X(RETENTION, "retention")                                                                      \
    X(TEMPORARIES, "temporaries")                                                                  \
    X(WORKER, "worker")                                                                            \
    X(WORKERS, "workers")
enum mpr_finding_kind {
#define X(name, key) MPR_FINDING_##name,
    MPR_FINDINGS(X)
#undef X
        MPR_FINDING_KINDS
};
extern const char *const mpr_finding_keys[MPR_FINDING_KINDS];

struct mpr_finding {
    enum mpr_finding_kind kind;
    uint8_t heap;         /* that has the bytes; the page links to its chart, at `time` */
    const char *where;    /* the owner of the heap, for people: "gpu0", "host" */
    uint64_t bytes;       /* that the change would save, at most */
    bool about;           /* bytes are estimated from samples */
    const char *what;     /* one sentence, with its numbers; */
    struct mpr_path path; /* ranges, or the Python stack; depth 0 if neither is known */
    const char *change;   /* what to do */
    const char *look;     /* the report that shows more of it, without the log: "segments" */
    uint64_t time;
    struct mpr_fact fact[MPR_FACTS_MOST];
    size_t facts;
};

/* The newest out-of-memory event of a device that the program did not recover from. */
struct mpr_insights_oom {
    bool told, capturing;
    unsigned device;
    uint64_t time, asked, free, total; /* free, total: MPF_UNKNOWN */
    uint8_t heap;
    struct mpr_path path;          /* ranges, or the Python stack if there are none */
    struct mpr_device_state state; /* the device's account at that time */
};

/* The newest allocation of host memory that failed. */
struct mpr_refused {
    uint64_t count, time, bytes; /* count: all that failed */
    unsigned error;              /* errno */
    struct mpr_rlimit limit;     /* that was in the way */
    uint8_t heap;
    struct mpr_path path;
};

struct mpr_insights {
    struct mpr_arena arena;
    struct mpr_peaks peaks; /* the log's peaks, by AUTO */
    struct mpr_insights_oom oom;
    struct mpr_refused refused;
    bool died;                          /* for want of host memory, or it may have */
    const struct mpr_processes *family; /* all processes of the run, or NULL if only the log was
                                         * given
                                         */
    struct mpr_steps steps;             /* findings use its paths; has_steps: a range repeats */
    bool has_steps;
    struct mpr_leaks leaks; /* likewise; read if no range repeats, or if its instances keep memory
                             */
    bool has_leaks;
    struct mpr_breakdown breakdown; /* likewise, and */
    struct mpr_peaks by_python; /* owners at the instant of the breakdown, by Python stacks; both
                                   are read if PyTorch held device memory */
    bool has_breakdown;
    struct mpr_finding *finding; /* largest first */
    size_t findings, cap;
};

/* Results of an earlier reading of the log, which need not be computed again.  by_python is then
 * not read. */
struct mpr_insights_known {
    const struct mpr_choice *choice; /* the grouping for AUTO */
    const char *range; /* the range with the compared instances, or NULL if none repeats */
};

/* family: outlives the insights; NULL: nothing is known of others.  known: NULL: nothing.  0, or -1
 * with *error filled (nothing to free then). */
int mpr_insights_read(struct mpr_insights *insights, const char *path,
                      const struct mpr_processes *family, const struct mpr_insights_known *known,
                      const struct mpr_progress *progress, struct mpr_error *error);
void mpr_insights_free(struct mpr_insights *insights);

#endif
