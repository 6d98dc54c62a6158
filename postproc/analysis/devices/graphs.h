/* A burst is a sequence of captures with short pauses, for example those of a server that
 * captures a graph for each batch size. */
#ifndef MPR_GRAPHS_H
#define MPR_GRAPHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame.h"
#include "progress.h"
#include "summary.h"

struct mpr_error;
struct mpr_reader;

/* The bytes of one or more graphs. Signed bytes are differences that were measured around calls. */
struct mpr_graph_bytes {
    uint64_t segments;          /* allocated from the driver during the capture */
    int64_t executable, launch; /* growth at the instantiation, and at the first launch */
    int64_t all;                /* the sum */
};

/* A capture, or an executable, or a capture with the first executable that was made from it. */
struct mpr_graph_row {
    struct mpr_path path; /* ranges, outermost first */
    const char *thread;
    uint32_t node, owner_thread; /* replay's numbers of the path and the thread */
    uint64_t time;    /* ns: the end of the capture, or of the instantiation without one */
    uint64_t burst;   /* from 1, or 0 if built by hand */
    uint64_t capture; /* from 1, or 0 if built by hand */
    uint64_t pool[2]; /* PyTorch's id of the pool; zeros if unknown */
    struct mpr_graph_bytes bytes;
    uint64_t block_bytes; /* bytes of PyTorch's blocks that were allocated during the capture */
    uint64_t nodes;
    unsigned device;
    bool captured; /* the row includes the capture; a second executable of a capture does not */
    bool instantiated, alive; /* alive: when the log ends */
};

#define MPR_GRAPH_NO_SIZE UINT64_MAX

/* The graphs of a burst that have the same number in their names. */
struct mpr_graph_size {
    uint64_t burst, size; /* MPR_GRAPH_NO_SIZE: graphs with other names */
    uint64_t graphs;
    struct mpr_graph_bytes bytes;
    int64_t cumulative; /* bytes of the sizes up to and including this one */
};

struct mpr_graph_burst {
    struct mpr_path path;      /* of its first capture */
    uint64_t number, from, to; /* ns */
    uint64_t captures, executables, alive, nodes, block_bytes;
    struct mpr_graph_bytes bytes;
    const struct mpr_graph_row *const *row; /* by time */
    size_t rows;
    struct mpr_graph_size *size; /* in the order of their first captures */
    size_t sizes;                /* 0 if no number varies in the names */
    const char *counted;         /* the word before that number: "bs" of "capture bs=8" */
};

struct mpr_graphs {
    struct mpr_arena arena;
    struct mpr_summary summary;
    struct mpr_graph_row *row; /* by time */
    size_t rows;
    struct mpr_graph_burst *burst; /* by time; graphs that were built by hand are last */
    size_t bursts;
};

/* Fills the rows and bursts from a log that was read, in the result's arena. */
void mpr_graphs_fill(struct mpr_graphs *graphs, const struct mpr_reader *reader);
/* Reads one log.  Returns 0, or -1 with *error filled and nothing to free. */
int mpr_graphs_read(struct mpr_graphs *graphs, const char *path,
                    const struct mpr_progress *progress, struct mpr_error *error);
void mpr_graphs_free(struct mpr_graphs *graphs);

#endif
