/* The processes of a run as a tree for people: similar processes are one line.
 *
 * A process that executed other programs is one entry, under the last one of them.  Children
 * of the same parents are alike if their command lines differ in numbers only and they ended alike:
 * MPR_FAMILY_LEAST and more are one line, and their children are compared together.  Two are two
 * lines, because they differ in rank, number and end.  A process whose peak exceeds those of
 * similar ones (apart.h), for example a worker that leaks, is a separate line. */
#ifndef MPR_FAMILY_H
#define MPR_FAMILY_H

#include <stdbool.h>

#include "processes.h"

enum { MPR_FAMILY_LEAST = 3 };

struct mpr_family_line {
    const char *title;                         /* "worker --rank={0..7}" */
    size_t depth, processes;                   /* generations above it; that it stands for */
    const struct mpr_process *largest, *last;  /* by peak; of one process: what it ran last */
    uint64_t host_bytes, gpu_bytes, end_bytes; /* sums of their peaks, and of host/heap at the end
                                                */
    uint64_t rss_bytes;                        /* sum; MPF_UNKNOWN */
    uint64_t lived_ns;                         /* the longest */
    bool host_is_about;                        /* a part of host_bytes may be more */
    bool apart;                                /* the one process that was to be told apart */
};

/* Parents before their children, the largest first; in the arena.  unfold: each log is a line.
 * apart: the log of a process that is alike to no other; NULL: none. */
struct mpr_family_line *mpr_family(struct mpr_arena *arena, const struct mpr_processes *all,
                                   bool unfold, const char *apart, size_t *lines);

#endif
