/* What CUDA graphs cost: the result behind `memprof-report graphs`.  Lives until mpr_graphs_free.
 *
 * A burst is captures that follow each other closely: a server that captures a graph for each batch
 * size makes one. */
#ifndef MPR_GRAPHS_H
#define MPR_GRAPHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame.h"
#include "progress.h"
#include "summary.h"

struct mpr_error;

/* One capture, or one executable, or both when it was made of that capture.  Bytes of calls are
 * measured, signed differences. */
struct mpr_graph_row {
    struct mpr_path path; /* ranges, outermost first */
    const char *thread;
    uint32_t node, maker; /* the same, as replay numbers them */
    uint64_t time;        /* ns: the capture's end, or the instantiation where there was none */
    uint64_t burst;       /* from 1; 0: built by hand */
    uint64_t capture;     /* from 1; 0: built by hand */
    uint64_t pool[2];     /* of PyTorch; zeros: not known */
    uint64_t segment_bytes, block_bytes; /* taken from the driver, and handed out by PyTorch, while
                                            it was captured */
    uint64_t nodes;
    int64_t executable_bytes, launch_bytes; /* at its instantiation, and at its first launch */
    unsigned device;
    bool captured; /* this row stands for the capture: a second executable of one does not */
    bool instantiated, alive; /* alive: at the end of the log */
};

#define MPR_GRAPH_NO_SIZE UINT64_MAX

/* The graphs of a burst that have one number in their name. */
struct mpr_graph_size {
    uint64_t burst, size; /* MPR_GRAPH_NO_SIZE: those whose name is another one */
    uint64_t graphs, segment_bytes;
    int64_t executable_bytes, launch_bytes, bytes;
    int64_t cumulative; /* bytes up to this one */
};

struct mpr_graph_burst {
    struct mpr_path path;      /* its first capture's */
    uint64_t number, from, to; /* ns */
    uint64_t captures, executables, alive, nodes, segment_bytes, block_bytes;
    int64_t executable_bytes, launch_bytes;
    const struct mpr_graph_row *const *row; /* its own, by time */
    size_t rows;
    struct mpr_graph_size *size; /* in the order of their first capture; their sums are the burst's
                                  */
    size_t sizes;                /* 0: no number varies in the names */
    const char *counted;         /* what that number counts: "bs" of "capture bs=8" */
};

struct mpr_graphs {
    struct mpr_arena arena;
    struct mpr_summary summary;
    struct mpr_graph_row *row; /* by time */
    size_t rows;
    struct mpr_graph_burst *burst; /* by time; those built by hand last */
    size_t bursts;
};

/* Bytes of a row in all. */
int64_t mpr_graph_total(const struct mpr_graph_row *row);
int64_t mpr_burst_total(const struct mpr_graph_burst *burst);

struct mpr_reader;

/* Of a log that was read, into the result's arena. */
void mpr_graphs_fill(struct mpr_graphs *graphs, const struct mpr_reader *reader);
/* 0, or -1 with *error filled (nothing to free then). */
int mpr_graphs_read(struct mpr_graphs *graphs, const char *path,
                    const struct mpr_progress *progress, struct mpr_error *error);
void mpr_graphs_free(struct mpr_graphs *graphs);

#endif
