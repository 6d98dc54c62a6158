/* The processes of one job side by side: the result behind `memprof-report ranks`.
 *
 * It is made of digests, which must outlive it.  Of each rank one process stands for it, the one
 * with the largest peak on a device, or of all heaps; those that belong to it (its children, what
 * it executed, what ran beside it on its node) are left out.  Where no process has a rank, each
 * stands for itself, with the program that held most of those that it executed.
 *
 * Bytes are requested bytes; wall times are CLOCK_REALTIME ns, put right where the clocks of nodes
 * differ. */
#ifndef MPR_RANKS_H
#define MPR_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "digest.h"

struct mpr_rank {
    const struct mpr_digest *digest;
    const char *name; /* "rank 37", "pid 4242" */
    const char *host;
    uint64_t number;    /* the rank's; UINT64_MAX: it has none */
    int64_t clock_ns;   /* that its node's clock is ahead by, and is put right by */
    uint64_t start_ns;  /* wall time, so put right; 0: not known */
    uint64_t failed_ns; /* likewise, of the first lack of memory; UINT64_MAX: none */
};

/* Groups of one size that lie alike among the ranks, one of them around each rank: a dimension of
 * the job's parallelism. */
struct mpr_ranks_axis {
    const struct mpr_ranks_group *first;
    size_t groups;
    size_t *group, *place; /* by rank: which group it is in, and as which of it */
};

/* Ranks told apart by axes: by group, by their places in the groups, or by what the groups of two
 * axes join.  Classes in order of their first ranks. */
enum mpr_ranks_by { MPR_RANKS_BY_GROUP, MPR_RANKS_BY_PLACE, MPR_RANKS_BY_JOINED };
struct mpr_ranks_split {
    enum mpr_ranks_by by;
    const struct mpr_ranks_axis *axis, *other; /* other: that it is joined with; else NULL */
    size_t classes;
    size_t *rank, *begin; /* of class k rank[begin[k]] up to rank[begin[k + 1]], ascending */
};

/* A heap's peaks are alike within a stage, and differ from one to the other. */
struct mpr_ranks_stage {
    const char *members; /* "{0..15}" */
    const size_t *rank;
    size_t ranks, apart; /* apart: so many of them lie apart from the others */
    uint64_t median, least, most;
    struct mpr_ranks_outlier *differs; /* its median rank from that of all ranks */
};

/* What is compared: the peak of a heap of one kind, or a part of a device's account.  Of a rank
 * with several devices it is that of the one where it is largest, or that is used most. */
struct mpr_ranks_measure {
    unsigned kind;    /* mpf_heap_code of a heap; MPF_HEAP_NONE for a part */
    const char *part; /* its key in a device's account, or NULL for a heap */
    const char *name; /* "gpu0/torch"; "gpuN/torch" where ranks have devices of their own */
    bool inside;      /* a heap that lies in another: it makes no outlier */
    bool estimated;   /* in some rank it is from samples, or may be another */
    uint64_t *value;  /* by rank, bytes */
    uint64_t median, least, most;
    size_t median_rank, least_rank, most_rank;
    size_t *usual; /* by rank: the rank that is the median of its stage, or of all */
    size_t *apart; /* ranks that are apart from that, the farthest first */
    size_t aparts;
    const struct mpr_ranks_split *split; /* into stages; NULL: there are none */
    struct mpr_ranks_stage *stage;       /* the farthest from the median first */
    uint64_t within;                     /* by so much ranks of one stage differ at most, but for
                                            those that lie apart */
};

/* What two ranks differ by: a line, by what it is alike to, or a part of the account. */
struct mpr_ranks_cause {
    const char *path, *caller; /* as the one that has more of it tells it */
    const char *alike;
    uint64_t here, median;
    int64_t change;
    bool estimated;
};

/* A rank that lies apart, by the heap in which it is farthest away. */
struct mpr_ranks_outlier {
    size_t rank, measure;
    size_t usual; /* the rank that it is compared with, the median of its stage or of all */
    uint64_t value;
    int64_t change;  /* from that one's */
    size_t lines_of; /* the measure whose lines these are: PyTorch's blocks rather than
                        their segments, where they differ by as much */
    struct mpr_ranks_cause *cause; /* the most in the direction of the change first; they sum to
                                      that of lines_of */
    size_t causes;
    struct mpr_ranks_cause *part; /* of the device's account likewise, where it is a device's heap
                                   */
    size_t parts;
};

struct mpr_ranks_node {
    const char *host;
    size_t ranks, failed;
    uint64_t median, most; /* of the measure that is shown */
    size_t most_rank;
    uint64_t rss_sum; /* UINT64_MAX: not known of all */
};

/* Communicators of so many ranks and one first use: a kind of parallelism. */
struct mpr_ranks_group {
    const char *name;    /* the communicator's hash */
    const char *members; /* "{0..7}": ranks that are here */
    uint64_t size;       /* as NCCL says; UINT64_MAX: not known */
    const char *first_use;
    size_t present;
    size_t *rank;
    uint64_t *place;       /* in the communicator, by rank of these; UINT64_MAX: not known */
    uint64_t median, most; /* of the measure that is shown */
    uint64_t bytes;        /* the median of what it takes */
};
struct mpr_ranks_kind {
    uint64_t size;
    const char *first_use;
    size_t first, groups;   /* of result->group */
    uint64_t median, bytes; /* of the groups' medians */
    const size_t *apart;    /* groups whose medians lie apart, the farthest first */
    size_t aparts;
};

struct mpr_ranks_clock {
    const char *host, *by; /* by: what it is known from */
    int64_t ahead_ns;      /* of the first rank's node */
    bool shifted;          /* by enough that its times are put right */
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
    size_t belonging;    /* processes that belong to those of a rank */
    size_t executed;     /* logs of these processes that are of programs which they executed before
                            or after the one that is taken */
    size_t unranked;     /* processes without a rank, where others have one */
    const char *missing; /* "{3, 17}": ranks that there should be; "": none */
    size_t missings;
    struct mpr_ranks_doubled *doubled;
    size_t doubles;
    struct mpr_ranks_measure *measure; /* heaps, then parts; the largest median first */
    size_t measures;
    size_t shown; /* the measure that nodes, groups and the heat map are of: a heap */
    struct mpr_ranks_outlier *outlier; /* the farthest first */
    size_t outliers;
    struct mpr_ranks_node *node; /* by name */
    size_t nodes;
    struct mpr_ranks_group *group; /* by kind, then by members */
    size_t groups;
    struct mpr_ranks_kind *kind;
    size_t kinds;
    struct mpr_ranks_axis *axis;
    size_t axes;
    struct mpr_ranks_split *split; /* the fewest classes first */
    size_t splits;
    struct mpr_ranks_clock *clock; /* of nodes whose clock can be told */
    size_t clocks;
    size_t *failed; /* ranks, the first one first */
    size_t failures;
    uint64_t heat_from, heat_width; /* wall time, ns; width 0: no times are known */
    uint64_t *heat;                 /* by rank MPR_RANKS_COLUMNS: the most bytes in each */
    uint64_t heat_most;
    bool incomplete; /* a log is, or a rank is missing or doubled */
};

/* digests: each of one process, in any order. */
void mpr_ranks_make(struct mpr_ranks *ranks, const struct mpr_digest *digest, size_t digests);
void mpr_ranks_free(struct mpr_ranks *ranks);

#endif
