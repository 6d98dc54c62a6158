/* The processes of a run as a tree for people: similar processes are one line.
 *
 * A process that executed other programs is one entry, with its last program.  Children of the same
 * parents are similar if their command lines differ only in numbers and they ended in the same way.
 * MPR_FAMILY_MIN or more of them are one line, and their children are compared together.  Two are
 * two lines, because they differ in rank, number and end.  A process whose peak exceeds those of
 * similar ones (outliers.h), for example a worker that leaks, is a separate line. */
#ifndef MPR_FAMILY_H
#define MPR_FAMILY_H

#include <stdbool.h>

#include "processes.h"

enum { MPR_FAMILY_MIN = 3 };

/* One process, or several similar ones. */
struct mpr_family_line {
    const char *title; /* "worker --rank={0..7}" */
    size_t depth;      /* generations above it */
    size_t processes;
    const struct mpr_process *largest, *last;  /* the one with the largest peak; its last program */
    uint64_t host_bytes, gpu_bytes, end_bytes; /* sums of their peaks, and of host/heap at the end
                                                */
    uint64_t rss_bytes;                        /* sum; MPF_UNKNOWN */
    uint64_t lived_ns;                         /* the longest */
    bool host_is_approximate;                  /* a part of host_bytes is approximate */
    bool apart;                                /* the process of the log that was to be separate */
};

/* Returns the lines in the arena, parents before their children, largest first.  @unfold: a line
 * for each log.  @apart: the log of a process that gets a separate line, or NULL. */
struct mpr_family_line *mpr_family(struct mpr_arena *arena, const struct mpr_processes *all,
                                   bool unfold, const char *apart, size_t *lines);

#endif
