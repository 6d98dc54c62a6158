/* What is worth a change: the result behind `memprof-report insights`, and the findings of the
 * summary.  Lives until mpr_insights_free.
 *
 * Each finding rests on numbers of the log, which it has with it, and is left out where the log
 * shows that what it would advise is done already: expandable segments, gradients within buckets,
 * one pool for all graphs.  Settings that only the environment has (garbage_collection_threshold,
 * MALLOC_ARENA_MAX) are in no log: they may be in force. */
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
    struct mpr_path path; /* the owner: ranges, or the Python stack; frame is NULL if there is no
                             owner */
    const char *change;   /* what to do */
    const char *look;     /* the report that shows more of it, without the log: "segments" */
    uint64_t time;
    struct mpr_fact fact[MPR_FACTS_MOST];
    size_t facts;
};

/* A lack of device memory that the program did not get over, the newest one. */
struct mpr_insights_oom {
    bool told, capturing;
    unsigned device;
    uint64_t time, asked, free, total; /* free, total: MPF_UNKNOWN */
    uint8_t heap;
    struct mpr_path path;          /* ranges, or the Python stack if there are none */
    struct mpr_device_state state; /* of the device, then */
};

/* The newest allocation of host memory that failed. */
struct mpr_refused {
    uint64_t count, time, bytes; /* count: of all that failed; 0: none did */
    unsigned error;              /* errno */
    struct mpr_rlimit limit;     /* that was in the way */
    uint8_t heap;
    struct mpr_path path;
};

struct mpr_insights {
    struct mpr_arena arena;
    struct mpr_peaks peaks; /* of the one log, by AUTO */
    struct mpr_insights_oom oom;
    struct mpr_refused refused;
    bool died;                          /* for want of host memory, or it may have */
    const struct mpr_processes *family; /* the run that the log is of; NULL: it alone was given */
    struct mpr_steps steps;             /* whose paths findings have; has_steps: a range repeats */
    bool has_steps;
    struct mpr_leaks leaks; /* likewise, where none does, or its instances keep something */
    bool has_leaks;
    struct mpr_breakdown breakdown; /* likewise, and */
    struct mpr_peaks by_python;     /* who held at its instant, by Python's stacks; both of them:
                                       PyTorch held device memory */
    bool has_breakdown;
    struct mpr_finding *finding; /* largest first */
    size_t findings, cap;
};

/* What another reading of the log has found out: it saves readings. */
struct mpr_insights_known {
    const struct mpr_choice *choice; /* what AUTO stands for */
    const char *range;               /* whose instances are compared; NULL: of none */
};                                   /* who knows asks for findings, not for by_python */

/* family: outlives the insights; NULL: nothing is known of others.  known: NULL: nothing.  0, or -1
 * with *error filled (nothing to free then). */
int mpr_insights_read(struct mpr_insights *insights, const char *path,
                      const struct mpr_processes *family, const struct mpr_insights_known *known,
                      const struct mpr_progress *progress, struct mpr_error *error);
void mpr_insights_free(struct mpr_insights *insights);

#endif
