/* Compares the processes of one job: the result of `memprof-report ranks`.
 *
 * It is made from digests, which must outlive it. Each rank is one process: the one with the
 * largest peak on a device, or without devices of any heap. Other processes with that rank are
 * not compared: its children, other programs that it executed, and processes that ran at the
 * same time on its node. If no process has a rank, every process is compared; of one that
 * executed several programs, the program that held most.
 *
 * Bytes are requested bytes. Wall times are CLOCK_REALTIME ns, corrected if the clocks of nodes
 * differ. */
#ifndef MPR_RANKS_H
#define MPR_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "digest.h"

struct mpr_insights;

struct mpr_rank {
    const struct mpr_digest *digest;
    const char *name; /* "rank 37", "pid 4242" */
    const char *host;
    uint64_t number;    /* the rank, or UINT64_MAX if it has none */
    int64_t clock_ns;   /* how far its node's clock is ahead */
    uint64_t start_ns;  /* corrected wall time, or 0 if unknown */
    uint64_t failed_ns; /* the same for the first out-of-memory event, or UINT64_MAX */
    uint64_t peak;      /* bytes of its largest heap */
};

/* Some ranks, and statistics of their values of a measure. */
struct mpr_ranks_class {
    const size_t *rank; /* ascending */
    size_t ranks;
    uint64_t median, min, max;
    size_t median_rank, min_rank, max_rank; /* the first rank with that value */
};

/* Groups of one size with the same layout among the ranks; each rank is in one group. An axis is
 * a dimension of the job's parallelism. */
struct mpr_ranks_axis {
    const struct mpr_ranks_group *first;
    size_t groups;
    size_t *group, *place; /* by rank: its group, and its place in the group */
};

/* A partition of the ranks into classes: by group of an axis, by place in the groups, or by the
 * ranks that are connected through groups of two axes. Classes are in the order of their first
 * ranks. */
enum mpr_ranks_by { MPR_RANKS_BY_GROUP, MPR_RANKS_BY_PLACE, MPR_RANKS_BY_JOINED };
struct mpr_ranks_split {
    enum mpr_ranks_by by;
    const struct mpr_ranks_axis *axis, *other; /* other: the second axis of JOINED, or NULL */
    size_t classes;
    size_t *rank, *begin; /* class k has rank[begin[k]] up to rank[begin[k + 1]], ascending */
};

/* A difference between two ranks: in lines with the same `alike` text, or in a part of the
 * account. */
struct mpr_ranks_cause {
    const char *path, *caller; /* path in the rank, or in the other one if this rank has none */
    const char *alike;
    uint64_t bytes, reference; /* bytes of the rank, and of the rank with which it is compared */
    int64_t change;
    bool estimated;
};

/* A rank that differs from another one in a measure: an outlier, in the heap in which it is
 * farthest from the others; the median rank of a stage; or the larger one of two ranks. */
struct mpr_ranks_outlier {
    size_t rank, measure;
    size_t reference; /* the rank that it is compared with: the median of its stage, or of all */
    int64_t change;   /* from the reference's value */
    size_t cause_measure; /* the measure of the causes: PyTorch's blocks instead of segments, if
                             they differ by enough */
    struct mpr_ranks_cause *cause; /* largest in the direction of the change first; they sum to the
                                      change of cause_measure */
    size_t causes;
    struct mpr_ranks_cause *part; /* the same for the device's account, if the heap is a device's */
    size_t parts;
};

/* A class of ranks with similar peaks of a heap, such as a pipeline stage. */
struct mpr_ranks_stage {
    const char *members; /* "{0..15}" */
    struct mpr_ranks_class values;
    size_t outliers;                  /* number of outliers among them */
    struct mpr_ranks_outlier differs; /* its median rank, compared with the median rank of all */
};

/* A value by which ranks are compared: the peak of a kind of heap, or a part of a device's
 * account. A rank with several devices has the largest value of a heap, and the parts of the
 * device on which it allocated most. */
struct mpr_ranks_measure {
    unsigned kind;    /* mpf_heap_code of a heap; MPF_HEAP_NONE for a part */
    const char *part; /* its key in a device's account, or NULL for a heap */
    const char *name; /* "gpu0/torch", or "gpuN/torch" if ranks use different devices */
    bool inside;      /* a heap inside another one, which has no outliers */
    bool estimated;   /* the value of some rank is from samples, or approximate */
    uint64_t *value;  /* by rank, bytes */
    struct mpr_ranks_class all;
    size_t *reference; /* by rank: the median rank of its stage, or of all */
    size_t *outlier;   /* ranks that are outliers, farthest from their reference first */
    size_t outliers;
    const struct mpr_ranks_split *split; /* the partition into stages, or NULL */
    struct mpr_ranks_stage *stage;       /* farthest from the median first */
    uint64_t within; /* the largest difference within a stage, without outliers */
};

struct mpr_ranks_node {
    const char *host;
    struct mpr_ranks_class values; /* by the shown measure */
    size_t failed;
    uint64_t rss_sum; /* UINT64_MAX if a rank's is unknown */
};

/* A communicator. Those with the same size and the same first use are of one kind. */
struct mpr_ranks_group {
    const char *name;    /* the communicator's hash */
    const char *members; /* "{0..7}": its ranks of which there are logs */
    uint64_t size;       /* number of its ranks, or UINT64_MAX if unknown */
    const char *first_use;
    size_t present;
    size_t *rank;
    uint64_t *place; /* for each element of `rank`: the rank in the communicator, or UINT64_MAX if
                        unknown */
    uint64_t median, max; /* by the shown measure */
    uint64_t bytes;       /* median of its ranks' memory for it */
};
struct mpr_ranks_kind {
    uint64_t size;
    const char *first_use;
    size_t first, groups;   /* in mpr_ranks.group */
    uint64_t median, bytes; /* medians of the groups' values */
    const size_t *outlier;  /* groups whose medians are outliers, farthest first */
    size_t outliers;
};

enum mpr_clock_source { MPR_CLOCK_BY_COMM, MPR_CLOCK_BY_RANGE };
struct mpr_ranks_clock {
    const char *host;
    enum mpr_clock_source by;
    int64_t ahead_ns; /* relative to the first rank's node */
    bool known;
    bool shifted; /* the clock differs so much that its times are corrected */
};

/* Two processes with the same rank. */
struct mpr_ranks_duplicate {
    const char *name;
    const struct mpr_digest *chosen, *other;
};

enum { MPR_RANKS_COLUMNS = 48 };
struct mpr_ranks {
    struct mpr_arena arena;
    struct mpr_rank *rank; /* by number */
    size_t ranks;
    bool numbered;       /* some processes have ranks */
    size_t belonging;    /* other processes of the ranks, which are not compared */
    size_t executed;     /* logs of other programs that the compared processes executed */
    size_t unranked;     /* processes without a rank, if others have ranks */
    const char *missing; /* "{3, 17}": ranks without a log, or "" */
    size_t missings;
    struct mpr_ranks_duplicate *duplicate;
    size_t duplicates;
    struct mpr_ranks_measure *measure; /* heaps, then parts; largest median first */
    size_t measures;
    size_t shown;                      /* the measure for nodes, groups and the heat map: a heap */
    struct mpr_ranks_outlier *outlier; /* farthest first */
    size_t outliers;
    struct mpr_ranks_outlier *pair; /* the rank with more memory, if there are two ranks and they
                                       differ, or NULL */
    struct mpr_ranks_node *node;    /* by name */
    size_t nodes;
    struct mpr_ranks_group *group; /* by kind, then by members */
    size_t groups;
    struct mpr_ranks_kind *kind;
    size_t kinds;
    struct mpr_ranks_axis *axis;
    size_t axes;
    struct mpr_ranks_split *split; /* fewest classes first */
    size_t splits;
    struct mpr_ranks_clock *clock; /* nodes with a known clock */
    size_t clocks;
    size_t *failed; /* ranks with a failure, earliest first */
    size_t failures;
    uint64_t heat_from, heat_width; /* wall time, ns; width 0 if no times are known */
    uint64_t *heat;                 /* MPR_RANKS_COLUMNS for each rank: maximum of its bytes */
    uint64_t heat_max;
    bool incomplete; /* a log is incomplete, or a rank is missing or a duplicate */
};

/* @digest: one for each process, in any order. */
void mpr_ranks_make(struct mpr_ranks *ranks, const struct mpr_digest *digest, size_t digests);
void mpr_ranks_free(struct mpr_ranks *ranks);
/* Adds findings about the job to the findings of one of its logs. The ranks must outlive the
 * insights. */
void mpr_ranks_findings(const struct mpr_ranks *ranks, struct mpr_insights *insights);

/* Returns "{0..7}" in the arena, or the name of a single rank. If ranks have no numbers, it has
 * their indices. */
const char *mpr_ranks_set(const struct mpr_ranks *ranks, struct mpr_arena *arena,
                          const size_t *rank, size_t count);

/* ---- parts of mpr_ranks_make, in the order in which it calls them; private to ranks*.c */

/* Finds the ranks that share communicators, and the partitions of the ranks by these. */
void mpr_ranks_share(struct mpr_ranks *ranks);
/* Compares the ranks, and finds outliers and their causes. */
void mpr_ranks_measure(struct mpr_ranks *ranks);
/* Fills the values of nodes and groups. */
void mpr_ranks_gather(struct mpr_ranks *ranks);
/* @value: by rank. @rank: must live as long as the class, and have at least one element. */
struct mpr_ranks_class mpr_ranks_class_of(const uint64_t *value, const size_t *rank, size_t ranks);
/* Returns the heap of that kind with the largest peak, or NULL. */
const struct mpr_digest_heap *mpr_ranks_heap(const struct mpr_digest *digest, unsigned kind);
/* Returns the peak of that kind of heap on the device, or 0. */
uint64_t mpr_ranks_peak_on(const struct mpr_digest *digest, unsigned kind, uint64_t device);

#endif
