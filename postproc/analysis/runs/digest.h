/* A digest of a log: the facts of its reports, bounded for any length. `memprof-report log digest`
 * writes it, and `ranks` merges digests.
 *
 * The reports' analyses make it, so its numbers are those that the reports print. A list that would
 * be too long has the largest rows, and a last row with the rest if rows have a sum, so that sums
 * stay exact. Rows hold plain values, so one description of their columns serves the writer and the
 * reader.
 *
 * Bytes are requested bytes; times are ns since the process's start; texts are never NULL.
 * Everything lives until mpr_digest_free. */
#ifndef MPR_DIGEST_H
#define MPR_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "heap_names.h"
#include "naming.h"
#include "progress.h"

struct mpr_error;
struct mpr_finding;
struct mpr_finding_text;
struct mpr_summary;

/* The sizes of the files from which it was made; UINT64_MAX for a missing file. */
struct mpr_digest_source {
    uint64_t log_bytes, fold_bytes, journal_bytes;
};

struct mpr_digest_process {
    const char *file, *host, *rank, *program; /* file: without its directory, or "" if unknown */
    const char *ended;                        /* "exit", "SIGKILL", ... */
    uint64_t pid, ppid, start_ns;             /* start_ns: CLOCK_REALTIME, or 0 if unknown */
    uint64_t duration_ns, events, lost_events;
    bool complete, incomplete;
    bool ended_for_certain; /* else the log may continue */
    uint64_t failed_ns;     /* the first out-of-memory event without recovery, or UINT64_MAX */
    uint64_t ooms_hard, ooms_soft;
    uint64_t rss_high;       /* UINT64_MAX if unknown */
    const char *named;       /* the source of names: "NVTX", ... */
    const char *host_blocks; /* "sample", "large", "off", or "" if all blocks of malloc are recorded
                              */
    struct mpr_digest_source source;
};

struct mpr_digest_heap {
    uint8_t heap, inside; /* inside: the heap that includes these bytes, or MPF_HEAP_NONE */
    bool estimated;       /* from samples, or blocks were only counted from time to time */
    uint64_t peak_bytes, peak_ns, peak_blocks, end_bytes, end_blocks;
    uint64_t allocations, frees, failures;
    const char *instance; /* the instance of a repeated range with the peak: "step 7", or "" */
};

/* A line of a heap's table at its peak, as `peaks` shows it. */
struct mpr_digest_line {
    uint8_t heap;
    const char *path, *caller; /* as people see them: names joined by " > "; caller "" */
    const char *alike; /* the path without numbers, the same in all ranks; "" for the rest */
    uint64_t bytes, blocks, end_bytes, allocations;
    uint64_t error_bytes; /* one standard error, or 0 if exact */
    bool estimated;
    uint64_t lines; /* 1, or the number of lines in the rest */
};

struct mpr_digest_device {
    uint64_t device, peak_ns, used_bytes, total_bytes; /* bytes: UINT64_MAX if unknown */
    const char *name, *uuid;
};

/* A part of a device's account at its peak; their sum is used_bytes. */
struct mpr_digest_part {
    uint64_t device;
    const char *part, *name;
    int64_t bytes;
};

struct mpr_digest_comm {
    uint64_t device;
    const char *communicator, *first_use; /* NCCL's hash, the same in all of its ranks; "" for the
                                             rest */
    uint64_t ranks, rank, first_ns;       /* UINT64_MAX if unknown; first_ns: first seen */
    uint64_t bytes, blocks;
};

struct mpr_digest_role {
    uint8_t heap;
    const char *role;
    uint64_t at_ns, bytes, blocks;
};

/* An instance of the outermost repeated range, or `count` consecutive ones with the largest peak of
 * them. */
struct mpr_digest_instance {
    uint8_t heap;
    const char *range, *name; /* name: of the first instance */
    uint64_t number, count, begin_ns, end_ns;
    bool ended;
    uint64_t peak_bytes, begin_bytes, end_bytes;
};

struct mpr_digest_oom {
    uint64_t time_ns, device;
    uint8_t heap;
    const char *thread, *path;
    uint64_t asked_bytes, free_bytes, total_bytes; /* UINT64_MAX: not known */
    bool got_over;
};

struct mpr_digest_finding {
    const char *finding, *where, *what, *path, *change, *report;
    uint64_t saves_at_most_bytes;
    bool estimated;
};

struct mpr_digest_span {
    uint8_t heap;
    uint64_t start_ns, time_of_max_ns, max_bytes, min_bytes, close_bytes;
};

/* X(table, row, list, count) */
#define MPR_DIGEST_LISTS(X)                                                                        \
    X(processes, mpr_digest_process, process, processes)                                           \
    X(heaps, mpr_digest_heap, heap, heaps)                                                         \
    X(lines, mpr_digest_line, line, lines)                                                         \
    X(devices, mpr_digest_device, device, devices)                                                 \
    X(device_parts, mpr_digest_part, part, parts)                                                  \
    X(communicators, mpr_digest_comm, comm, comms)                                                 \
    X(roles, mpr_digest_role, role, roles)                                                         \
    X(instances, mpr_digest_instance, instance, instances)                                         \
    X(ooms, mpr_digest_oom, oom, ooms)                                                             \
    X(findings, mpr_digest_finding, finding, findings)                                             \
    X(series, mpr_digest_span, span, spans)

struct mpr_digest {
    struct mpr_arena arena;
#define X(table, row, list, count)                                                                 \
    struct row *list;                                                                              \
    size_t count;
    MPR_DIGEST_LISTS(X) /* one process */
#undef X
};

/* Limits of rows: of lines and spans for all heaps together, with a minimum for each heap; of
 * instances for each heap. */
enum {
    MPR_DIGEST_LINES = 512,
    MPR_DIGEST_LINES_LEAST = 8,
    MPR_DIGEST_LINES_MOST = 64,
    MPR_DIGEST_SPANS = 768,
    MPR_DIGEST_SPANS_LEAST = 16,
    MPR_DIGEST_SPANS_MOST = 128,
    MPR_DIGEST_INSTANCES = 48,
    MPR_DIGEST_INSTANCE_HEAPS = 6,
    MPR_DIGEST_COMMS = 64,
    MPR_DIGEST_OOMS = 16,
    MPR_DIGEST_FINDINGS = 16,
    MPR_DIGEST_TEXT = 400 /* bytes of a path or a sentence */
};

/* Texts of the report layer, which is above this one, in the arena. */
struct mpr_digest_words {
    const struct mpr_naming *naming;
    /* Returns how the process ended, in a word or two. */
    const char *(*ended)(struct mpr_arena *arena, const struct mpr_summary *summary);
    struct mpr_finding_text (*finding)(struct mpr_arena *arena, const struct mpr_finding *finding);
};

/* Reads one log, several times. Returns 0, or -1 with *error filled and nothing to free. */
int mpr_digest_make(struct mpr_digest *digest, const char *path,
                    const struct mpr_digest_words *words, const struct mpr_progress *progress,
                    struct mpr_error *error);
void mpr_digest_free(struct mpr_digest *digest);

/* Returns true if the digest was made from the log as it is now. */
bool mpr_digest_is_fresh(const struct mpr_digest *digest, const char *log);

#endif
