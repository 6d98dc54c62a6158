/* Compares the processes of one job: the result of `memprof-report ranks`.
 *
 * It is made from digests, which must outlive it. Each rank has one process: the one with the
 * largest peak on a device, or else of all heaps. Other processes of the rank are left out: its
 * children, the programs that it executed, and processes that ran with it on its node. If no
 * process has a rank, each process counts, with the program that held most of those that it
 * executed.
 *
 * Bytes are requested bytes; wall times are CLOCK_REALTIME ns, corrected if the clocks of nodes
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
    int64_t clock_ns;   /* correction: its node's clock is ahead by this */
    uint64_t start_ns;  /* corrected wall time, or 0 if unknown */
    uint64_t failed_ns; /* likewise, of the first out-of-memory event, or UINT64_MAX */
    uint64_t peak;      /* bytes of its largest heap */
};

/* Some ranks, and their values of a measure. */
struct mpr_ranks_class {
    const size_t *rank; /* ascending */
    size_t ranks;
    uint64_t median, least, most;
    size_t median_rank, least_rank, most_rank; /* the first rank with that value */
};

/* Groups of one size with the same layout among the ranks; each rank is in one of them. An axis is
 * a dimension of the job's parallelism. */
struct mpr_ranks_axis {
    const struct mpr_ranks_group *first;
    size_t groups;
    size_t *group, *place; /* by rank: its group, and its place in the group */
};

/* A partition of the ranks into classes: by group, by place in the groups, or by the ranks that the
 * groups of two axes connect. Classes are in the order of their first ranks. */
enum mpr_ranks_by { MPR_RANKS_BY_GROUP, MPR_RANKS_BY_PLACE, MPR_RANKS_BY_JOINED };
struct mpr_ranks_split {
    enum mpr_ranks_by by;
    const struct mpr_ranks_axis *axis, *other; /* other: the second axis of JOINED, or NULL */
    size_t classes;
    size_t *rank, *begin; /* class k has rank[begin[k]] up to rank[begin[k + 1]], ascending */
};

/* A difference of two ranks: in a line, by its `alike` text, or in a part of the account. */
struct mpr_ranks_cause {
    const char *path, *caller; /* from the rank that has more of it */
    const char *alike;
    uint64_t here, median;
    int64_t change;
    bool estimated;
};

/* A rank that differs from another one in a measure: an outlier, by the heap in which it is
 * farthest from the others; the median of a stage; or the larger one of two ranks. */
struct mpr_ranks_outlier {
    size_t rank, measure;
    size_t usual;    /* the rank to compare it with: the median of its stage, or of all */
    int64_t change;  /* from the usual rank's value */
    size_t lines_of; /* the measure of the causes: PyTorch's blocks, not their segments, if both
                        differ by the same bytes */
    struct mpr_ranks_cause *cause; /* the largest in the direction of the change first; their sum is
                                      the change of lines_of */
    size_t causes;
    struct mpr_ranks_cause *part; /* likewise of the device's account, if the heap is a device's */
    size_t parts;
};

/* A class of ranks with similar peaks of a heap; other stages have other peaks. */
struct mpr_ranks_stage {
    const char *members; /* "{0..15}" */
    struct mpr_ranks_class of;
    size_t apart;                     /* the number of outliers among them */
    struct mpr_ranks_outlier differs; /* its median rank compared with that of all ranks */
};

/* A compared number: the peak of a heap of one kind, or a part of a device's account. A rank with
 * several devices has the value of the device where it is largest; parts are those of the device on
 * which it allocated most. */
struct mpr_ranks_measure {
    unsigned kind;    /* mpf_heap_code of a heap; MPF_HEAP_NONE for a part */
    const char *part; /* its key in a device's account, or NULL for a heap */
    const char *name; /* "gpu0/torch"; "gpuN/torch" if ranks use different devices */
    bool inside;      /* a heap inside another one: it makes no outlier */
    bool estimated;   /* in some rank it is from samples, or approximate */
    uint64_t *value;  /* by rank, bytes */
    struct mpr_ranks_class all;
    size_t *usual; /* by rank: the rank that is the median of its stage, or of all */
    size_t *apart; /* outliers from `usual`, the farthest first */
    size_t aparts;
    const struct mpr_ranks_split *split; /* into stages, or NULL */
    struct mpr_ranks_stage *stage;       /* the farthest from the median first */
    uint64_t within; /* the largest difference within a stage, without its outliers */
};

struct mpr_ranks_node {
    const char *host;
    struct mpr_ranks_class of; /* by the shown measure */
    size_t failed;
    uint64_t rss_sum; /* UINT64_MAX if unknown for some */
};

/* Communicators with the same number of ranks and the same first use: a kind of parallelism. */
struct mpr_ranks_group {
    const char *name;    /* the communicator's hash */
    const char *members; /* "{0..7}": its ranks among the given logs */
    uint64_t size;       /* from NCCL, or UINT64_MAX if unknown */
    const char *first_use;
    size_t present;
    size_t *rank;
    uint64_t *place; /* by index of `rank`: the rank in the communicator; UINT64_MAX if unknown */
    uint64_t median, most; /* by the shown measure */
    uint64_t bytes;        /* median of its memory */
};
struct mpr_ranks_kind {
    uint64_t size;
    const char *first_use;
    size_t first, groups;   /* in result->group */
    uint64_t median, bytes; /* medians of the groups' values */
    const size_t *apart;    /* groups whose medians are outliers, the farthest first */
    size_t aparts;
};

enum mpr_clock_source { MPR_CLOCK_BY_COMM, MPR_CLOCK_BY_RANGE };
struct mpr_ranks_clock {
    const char *host;
    enum mpr_clock_source by;
    int64_t ahead_ns; /* relative to the first rank's node */
    bool known;
    bool shifted; /* far enough that its times are corrected */
};

/* Two processes that claim one rank. */
struct mpr_ranks_doubled {
    const char *name;
    const struct mpr_digest *taken, *left;
};

enum { MPR_RANKS_COLUMNS = 48 };
struct mpr_ranks {
    struct mpr_arena arena;
    struct mpr_rank *rank; /* by number */
    size_t ranks;
    bool numbered;       /* processes have ranks */
    size_t belonging;    /* other processes of the ranks */
    size_t executed;     /* logs of other programs that the chosen processes executed */
    size_t unranked;     /* processes without a rank, if others have one */
    const char *missing; /* "{3, 17}": ranks without a log, or "" */
    size_t missings;
    struct mpr_ranks_doubled *doubled;
    size_t doubles;
    struct mpr_ranks_measure *measure; /* heaps, then parts; the largest median first */
    size_t measures;
    size_t shown;                      /* the measure of nodes, groups and the heat map: a heap */
    struct mpr_ranks_outlier *outlier; /* the farthest first */
    size_t outliers;
    struct mpr_ranks_outlier *pair; /* the rank with more, if two ranks differ; or NULL */
    struct mpr_ranks_node *node;    /* by name */
    size_t nodes;
    struct mpr_ranks_group *group; /* by kind, then by members */
    size_t groups;
    struct mpr_ranks_kind *kind;
    size_t kinds;
    struct mpr_ranks_axis *axis;
    size_t axes;
    struct mpr_ranks_split *split; /* the fewest classes first */
    size_t splits;
    struct mpr_ranks_clock *clock; /* nodes with a known clock */
    size_t clocks;
    size_t *failed; /* ranks, the first one first */
    size_t failures;
    uint64_t heat_from, heat_width; /* wall time, ns; width 0 if no times are known */
    uint64_t *heat;                 /* by rank MPR_RANKS_COLUMNS: the most bytes in each */
    uint64_t heat_most;
    bool incomplete; /* a log is incomplete, or a rank is missing or doubled */
};

/* digests: each of one process, in any order. */
void mpr_ranks_make(struct mpr_ranks *ranks, const struct mpr_digest *digest, size_t digests);
void mpr_ranks_free(struct mpr_ranks *ranks);
/* Adds findings about the job to those of one of its logs.  The ranks must outlive the insights. */
void mpr_ranks_findings(const struct mpr_ranks *ranks, struct mpr_insights *insights);

/* Returns "{0..7}" in the arena, with places in the list if ranks have no numbers; for a single
 * rank its name. */
const char *mpr_ranks_set(const struct mpr_ranks *ranks, struct mpr_arena *arena,
                          const size_t *rank, size_t count);

/* ---- parts of mpr_ranks_make, in the order of their calls.  Private to ranks*.c. */

/* Finds the ranks that share communicators, and the partitions of the ranks by these. */
void mpr_ranks_share(struct mpr_ranks *ranks);
/* Compares the ranks, and finds outliers and their causes. */
void mpr_ranks_measure(struct mpr_ranks *ranks);
/* Fills the values of nodes and groups. */
void mpr_ranks_gather(struct mpr_ranks *ranks);
/* @value: by rank.  @rank: lives as long as the class, and has at least one. */
struct mpr_ranks_class mpr_ranks_class_of(const uint64_t *value, const size_t *rank, size_t ranks);
/* Returns the heap of that kind with the largest peak, or NULL. */
const struct mpr_digest_heap *mpr_ranks_heap(const struct mpr_digest *digest, unsigned kind);
/* Returns the peak of that kind of heap on the device, or 0. */
uint64_t mpr_ranks_peak_on(const struct mpr_digest *digest, unsigned kind, uint64_t device);

#endif
