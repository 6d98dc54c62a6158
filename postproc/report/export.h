/* The columns of the tables that only `memprof-report export` and digests have; memprof-report(1)
 * lists them. */
#ifndef MPR_EXPORT_H
#define MPR_EXPORT_H

#include "document.h"

/* X(NAME, name, key, columns); for the key see struct mpr_export_table. */
#define MPR_EXPORT_TABLES(X)                                                                       \
    X(PROCESSES, processes, "", processes)                                                         \
    X(HEAPS, heaps, "heap", heaps)                                                                 \
    X(THREADS, threads, "thread_id", threads)                                                      \
    X(RANGES, ranges, "range_id", ranges)                                                          \
    X(INSTANCES, instances, "", instances)                                                         \
    X(SITES, sites, "site_id", sites)                                                              \
    X(CALLS, calls, "stack_id, level", calls)                                                      \
    X(FRAMES, frames, "frame_id", frames)                                                          \
    X(BLOCKS, blocks, "", blocks)                                                                  \
    X(USES, uses, "", uses)                                                                        \
    X(SERIES, series, "", series)                                                                  \
    X(SAMPLES_RSS, samples_rss, "", mpr_reading_rss)                                               \
    X(SAMPLES_CGROUP, samples_cgroup, "", mpr_reading_cgroup)                                      \
    X(SAMPLES_JEMALLOC, samples_jemalloc, "", mpr_reading_jemalloc)                                \
    X(SAMPLES_ALLOCATOR, samples_allocator, "", mpr_reading_allocator)                             \
    X(SAMPLES_GPU, samples_gpu, "", samples_gpu)                                                   \
    X(DEVICES, devices, "device", devices)                                                         \
    X(DEVICE_PARTS, device_parts, "", device_parts)                                                \
    X(COMMUNICATORS, communicators, "", communicators)                                             \
    X(OOMS, ooms, "", ooms)

enum mpr_export_which {
#define X(name, ...) MPR_EXPORT_##name,
    MPR_EXPORT_TABLES(X)
#undef X
        MPR_EXPORT_COUNT
};

/* A table whose first column is process_id. */
struct mpr_export_table {
    const char *name;
    const char *key; /* the columns that identify a row of a process, or "" if none do */
    const struct mpr_column *column;
    size_t columns;
};
extern const struct mpr_export_table mpr_export_table[MPR_EXPORT_COUNT];

/* A table of a digest (digest.def), as memprof-report(1) lists them.  Each column is a member of
 * its row, never computed by a function or taken from the context. */
struct mpr_digest_table {
    struct mpr_export_table table;
    size_t list, count; /* offsets in struct mpr_digest */
    size_t stride;      /* bytes of a row */
};
extern const struct mpr_digest_table mpr_digest_table[];
extern const size_t mpr_digest_tables;

#endif
