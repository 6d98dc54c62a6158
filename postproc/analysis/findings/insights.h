/* Findings that are worth a change: the result of `memprof-report summary --all`, and of the
 * summary. Lives until mpr_insights_free.
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
#include "occupancy.h"
#include "peaks.h"
#include "processes.h"
#include "reading.h"
#include "steps.h"

struct mpr_error;

enum mpr_fact_type {
    MPR_FACT_COUNT,
    MPR_FACT_BYTES,
    MPR_FACT_SPAN, /* ns */
    MPR_FACT_ID,   /* a number without separators */
    MPR_FACT_TEXT
};
/* A value that a finding rests on.  Its key names it in JSON and in the finding's sentences. */
struct mpr_fact {
    const char *key;
    enum mpr_fact_type type;
    bool estimated; /* from samples */
    uint64_t value;
    const char *text; /* of TEXT */
    bool detail;      /* only the sentences use it, as all TEXT */
};

enum { MPR_FACTS_MAX = 11 };

/* X(NAME, "key"), in the order of the keys, which are a contract that memprof-report(1) lists. */
#define MPR_FINDINGS(X)                                                                            \
    X(ACTIVATIONS, "activations")                                                                  \
    X(CACHE, "cache")                                                                              \
    X(COPIED_PAGES, "copied_pages")                                                                \
    X(DOUBLED_COMMUNICATORS, "doubled_communicators")                                              \
    X(EMPTY_CACHE, "empty_cache")                                                                  \
    X(FAILED_ATTEMPT, "failed_attempt")                                                            \
    X(FILE_MAPPINGS, "file_mappings")                                                              \
    X(FOREIGN_GPU, "foreign_gpu")                                                                  \
    X(FRAGMENTATION, "fragmentation")                                                              \
    X(GRADIENT_COPIES, "gradient_copies")                                                          \
    X(GRAPH_PER_SHAPE, "graph_per_shape")                                                          \
    X(GRAPH_POOLS, "graph_pools")                                                                  \
    X(GRAPH_POOLS_FREE, "graph_pools_free")                                                        \
    X(GROWTH, "growth")                                                                            \
    X(HOLDER, "holder")                                                                            \
    X(IDLE_COMMUNICATORS, "idle_communicators")                                                    \
    X(IDLE_GRADIENTS, "idle_gradients")                                                            \
    X(INSTANCE, "instance")                                                                        \
    X(LOCAL_MEMORY, "local_memory")                                                                \
    X(OPTIMIZER_STATE, "optimizer_state")                                                          \
    X(OTHER_POOL, "other_pool")                                                                    \
    X(OTHER_PROCESS, "other_process")                                                              \
    X(PAGE_TABLES, "page_tables")                                                                  \
    X(PINNED, "pinned")                                                                            \
    X(POOL_KEPT, "pool_kept")                                                                      \
    X(RETENTION, "retention")                                                                      \
    X(STATIC_DATA, "static_data")                                                                  \
    X(TEMPORARIES, "temporaries")                                                                  \
    X(THREAD_STACKS, "thread_stacks")                                                              \
    X(UNEVEN_RANKS, "uneven_ranks")                                                                \
    X(WORKER, "worker")                                                                            \
    X(WORKERS, "workers")                                                                          \
    X(WORKSPACES, "workspaces")
enum mpr_finding_kind {
#define X(name, key) MPR_FINDING_##name,
    MPR_FINDINGS(X)
#undef X
        MPR_FINDING_KINDS
};
extern const char *const mpr_finding_keys[MPR_FINDING_KINDS];

/* Which of the sentences of its kind a finding has: the number of an alternative in the table of
 * report/report_findings.c. */
enum mpr_finding_variant {
    /* ACTIVATIONS: why they are live */
    MPR_VARIANT_OF_PASS = 0,
    MPR_VARIANT_WITHOUT_BACKWARD, /* forward passes before the first backward pass */
    MPR_VARIANT_EVALUATION,       /* one forward pass that no backward pass follows */
    MPR_VARIANT_ONE_MODULE,       /* much more than in the other modules of its kind */
    /* CACHE and FRAGMENTATION: the instant */
    MPR_VARIANT_AT_PEAK = 0,
    MPR_VARIANT_AT_OOM,
    /* COPIED_PAGES and WORKERS: more workers ran at other times; WORKERS: one more stands out */
    MPR_VARIANT_ALL_WORKERS = 0,
    MPR_VARIANT_AT_A_TIME,
    MPR_VARIANT_OTHER_WORKERS,
    MPR_VARIANT_OTHERS_AT_A_TIME,
    /* FAILED_ATTEMPT */
    MPR_VARIANT_ONE_ATTEMPT = 0,
    MPR_VARIANT_ATTEMPTS,
    /* FOREIGN_GPU: ranks allocated blocks there, or have only contexts */
    MPR_VARIANT_BLOCKS = 0,
    MPR_VARIANT_CONTEXTS,
    /* GRADIENT_COPIES */
    MPR_VARIANT_BUCKETS = 0,
    MPR_VARIANT_BETWEEN_PASSES,
    /* GROWTH: by instances of a range, or by the clock */
    MPR_VARIANT_EACH_INSTANCE = 0,
    MPR_VARIANT_SHORT_RUN,
    MPR_VARIANT_STEADY,
    MPR_VARIANT_STEADY_UNNAMED, /* no site is known */
    MPR_VARIANT_EACH_CALL,
    MPR_VARIANT_EACH_CALL_TORCH,
    /* HOLDER: memory ran out, or the run ended well */
    MPR_VARIANT_HELD_AT_OOM = 0,
    MPR_VARIANT_HELD_DATA, /* data of a training program */
    MPR_VARIANT_HELD_HOST,
    MPR_VARIANT_HELD_FOR_INFERENCE, /* data of a program that runs modules and does not train */
    MPR_VARIANT_HELD_BUFFERS,       /* of modules, which are not trained */
    /* INSTANCE: of a range, a use of a call site or a heap, or a step of training without a range
     */
    MPR_VARIANT_RANGE = 0,
    MPR_VARIANT_USE,
    MPR_VARIANT_USE_OF_HEAP,
    MPR_VARIANT_TRAINING_STEP,
    /* FILE_MAPPINGS and STATIC_DATA: host memory did not run out, or it may have */
    MPR_VARIANT_RESIDENT = 0,
    MPR_VARIANT_RESIDENT_AT_OOM,
    /* OPTIMIZER_STATE: parameters are spread over ranks already, or not */
    MPR_VARIANT_SHARDED = 0,
    MPR_VARIANT_WHOLE,
    /* OTHER_POOL: the library */
    MPR_VARIANT_CUPY = 0,
    MPR_VARIANT_XLA,
    /* OTHER_PROCESS: it has a log, or not */
    MPR_VARIANT_RECORDED = 0,
    MPR_VARIANT_UNRECORDED,
    /* PINNED: a program with PyTorch, or without it */
    MPR_VARIANT_PINNED_BY_TORCH = 0,
    MPR_VARIANT_PINNED_BY_PROGRAM,
    /* RETENTION: the allocator, or what is known of its pages: most of the free bytes are in pages
     * that malloc_trim returns, or in pages of live blocks of glibc or of jemalloc */
    MPR_VARIANT_JEMALLOC = 0,
    MPR_VARIANT_ARENAS,
    MPR_VARIANT_ONE_ARENA,
    MPR_VARIANT_TRIM,
    MPR_VARIANT_PINS,
    MPR_VARIANT_JEMALLOC_PINS,
    /* TEMPORARIES: what they lived within */
    MPR_VARIANT_FORWARD = 0,
    MPR_VARIANT_BACKWARD,
    MPR_VARIANT_OPTIMIZER,
    MPR_VARIANT_MODULES,
    MPR_VARIANT_CALLS,
    MPR_VARIANT_HOST_CALLS,
    MPR_VARIANT_EMBEDDING, /* the gradient of an embedding */
};

struct mpr_finding {
    enum mpr_finding_kind kind;
    enum mpr_finding_variant variant;
    uint8_t heap;         /* that has the bytes; the page links to its chart, at `time` */
    uint64_t bytes;       /* that the change would save, at most */
    bool estimated;       /* the bytes come from samples */
    bool weak;            /* the program may need these bytes: worded as a question, and last */
    struct mpr_path path; /* ranges, or the Python stack; depth 0 if neither is known */
    uint64_t time;        /* ns: when it was seen */
    struct mpr_fact fact[MPR_FACTS_MAX];
    size_t facts;
};

/* The sentences of a finding.  The report layer makes them (report_findings.c). */
struct mpr_finding_text {
    const char *where;  /* the owner of the heap: "gpu0", "host" */
    const char *what;   /* the finding in one sentence */
    const char *change; /* the advice */
    const char *report; /* the report that shows more, without the log: "segments" */
};

/* The newest out-of-memory event of a device that the program did not recover from. */
struct mpr_insights_oom {
    bool told, capturing;
    bool own_limit; /* the driver was not called */
    unsigned device;
    uint64_t time, asked, free, total; /* free, total: MPF_UNKNOWN if the driver was not asked */
    uint8_t heap;
    struct mpr_path path;          /* ranges, or the Python stack if there are none */
    struct mpr_device_state state; /* the device's account at that time */
};

/* Allocations of host memory that failed. */
struct mpr_refused_request {
    uint64_t count, time, bytes; /* time: of the newest one; bytes: of the largest one */
    unsigned error;              /* errno */
    uint8_t heap;
    const char *thread;
    struct mpr_path path;
    struct mpr_rlimit limit; /* the limit that was reached, if this is one allocation */
};

struct mpr_insights {
    struct mpr_arena arena;
    struct mpr_peaks peaks;  /* the log's peaks, by AUTO */
    struct mpr_peaks at_rss; /* when resident memory was highest, if that leads; otherwise no log */
    struct mpr_insights_oom oom;
    struct mpr_refused_request refused; /* the newest one; count: of all */
    bool died;                          /* it may have been killed because host memory ran out */
    const struct mpr_processes *family; /* all processes of the run, or NULL if unknown */
    /* Results whose paths findings use. */
    struct mpr_steps steps; /* if a range repeats */
    bool has_steps;
    struct mpr_leaks leaks; /* if no range repeats, or its instances keep memory */
    bool has_leaks;
    struct mpr_breakdown breakdown; /* if PyTorch held device memory */
    bool has_breakdown;
    struct mpr_occupancy occupancy; /* malloc's pages when it kept most of what was freed */
    struct mpr_peaks by_python;     /* with a breakdown: owners at its instant, by Python stacks */
    struct mpr_finding *finding;    /* in the order of by_use (insights.c) */
    size_t findings, cap;
};

/* @family: outlives the insights; NULL if nothing is known of other processes.  @alone: by_python
 * is not wanted.  Returns 0, or -1 with *error filled and nothing to free. */
int mpr_insights_read(struct mpr_insights *insights, const char *path,
                      const struct mpr_processes *family, bool alone,
                      const struct mpr_progress *progress, struct mpr_error *error);
/* The same for a caller that replays the log for other analyses as well, by MPR_GROUP_PLACE or, if
 * @alone, MPR_GROUP_ALL.  mpr_insights_watch comes after all other observers and before the first
 * event, mpr_insights_take after the last one.  mpr_insights_finish reads the log again if it must.
 * It frees the reading, as mpr_insights_end does without a result.  @path: lives until then. */
struct mpr_reader;
struct mpr_insights_reading;
struct mpr_insights_reading *mpr_insights_watch(struct mpr_insights *insights,
                                                struct mpr_reader *reader, const char *path,
                                                bool alone);
void mpr_insights_take(struct mpr_insights_reading *reading, struct mpr_reader *reader);
void mpr_insights_finish(struct mpr_insights_reading *reading, const struct mpr_processes *family,
                         const struct mpr_progress *progress);
void mpr_insights_end(struct mpr_insights_reading *reading);
/* Returns true if memory ran out, or may have run out.  A program ends without an END in its log if
 * it is killed, but also if it can no longer reach its log (chroot). */
bool mpr_insights_died(const struct mpr_summary *summary);
/* Returns the first finding of that kind for the heap, or NULL. */
const struct mpr_finding *mpr_finding_of(const struct mpr_insights *insights,
                                         enum mpr_finding_kind kind, uint8_t heap);
/* Returns true if the bytes of the finding would have made room for the request that the device
 * refused. */
bool mpr_finding_makes_room(const struct mpr_insights *insights, const struct mpr_finding *finding);
/* Returns the fact with the key of that length, or NULL if the finding has none. */
const struct mpr_fact *mpr_finding_value(const struct mpr_finding *finding, const char *key,
                                         size_t length);
void mpr_insights_free(struct mpr_insights *insights);

#endif
