/* A log in little: what the reports say of it, bounded whatever its length.  What `memprof-report
 * digest` writes, and `ranks` merges.
 *
 * Each number is one that a report prints, for the same analyses make it.  Of a list that would be
 * too long the largest are there, and where they have a sum a last row with what is left, so that
 * sums stay exact.  Rows hold plain values, so that one description of their columns serves who
 * writes them and who reads them.
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
struct mpr_summary;

/* Which files it was made of, as they were then: their sizes; UINT64_MAX: there is none. */
struct mpr_digest_source {
    uint64_t log_bytes, fold_bytes, journal_bytes;
};

struct mpr_digest_process {
    const char *file, *host, *rank, *program; /* file: without its directory; "": not known */
    const char *ended;                        /* "exit", "SIGKILL", ... */
    uint64_t pid, ppid, start_ns;             /* start_ns: CLOCK_REALTIME; 0: not known */
    uint64_t duration_ns, events, lost_events;
    bool complete, incomplete;
    bool ended_for_certain; /* else the log may go on */
    uint64_t failed_ns;     /* the first lack of memory that it did not get over; UINT64_MAX */
    uint64_t ooms_hard, ooms_soft;
    uint64_t rss_high;       /* UINT64_MAX: not known */
    const char *named;       /* what names lines: "NVTX", ... */
    const char *host_blocks; /* where not each block of malloc is: "sample", "large", "off"; else ""
                              */
    struct mpr_digest_source source;
};

struct mpr_digest_heap {
    uint8_t heap, inside; /* inside: the heap whose bytes these are a part of; MPF_HEAP_NONE */
    bool estimated; /* from samples, or its peak may be another: blocks were counted now and then */
    uint64_t peak_bytes, peak_ns, peak_blocks, end_bytes, end_blocks;
    uint64_t allocations, frees, failures;
    const char *instance; /* of a repeated range, that the peak is in: "step 7"; "" */
};

/* A line of a heap's table at its peak, as `peaks` shows it. */
struct mpr_digest_line {
    uint8_t heap;
    const char *path, *caller; /* as people see them: names joined by " > "; caller "" */
    const char *alike;         /* the path without numbers that count: the same in all ranks; of
                                  the rest "" */
    uint64_t bytes, blocks, end_bytes, allocations;
    uint64_t error_bytes; /* one standard error; 0: exact */
    bool estimated;
    uint64_t lines; /* that it stands for: 1, but of the rest */
};

struct mpr_digest_device {
    uint64_t device, peak_ns, used_bytes, total_bytes; /* bytes UINT64_MAX: not known */
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
    const char *communicator, *first_use; /* the hash of NCCL's, the same in all of its ranks; ""
                                             of the rest */
    uint64_t ranks, rank, first_ns;       /* UINT64_MAX: not known; first_ns: first seen */
    uint64_t bytes, blocks;
};

struct mpr_digest_role {
    uint8_t heap;
    const char *role;
    uint64_t at_ns, bytes, blocks;
};

/* An instance of the outermost range that repeats, or `count` of them in a row: their peak is the
 * largest. */
struct mpr_digest_instance {
    uint8_t heap;
    const char *range, *name; /* name: the first one's */
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

/* At most so many rows: of lines and of spans over all heaps, each of them at least the second
 * number; of instances for each heap. */
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

/* What the reports above this layer know: how paths are told, and how a process ended, in a word or
 * two, in the arena. */
struct mpr_digest_words {
    const struct mpr_naming *naming;
    const char *(*ended)(struct mpr_arena *arena, const struct mpr_summary *summary);
};

/* Reads one log, several times.  0, or -1 with *error filled (nothing to free then). */
int mpr_digest_make(struct mpr_digest *digest, const char *path,
                    const struct mpr_digest_words *words, const struct mpr_progress *progress,
                    struct mpr_error *error);
void mpr_digest_free(struct mpr_digest *digest);

/* The files of a log as they are now.  False: there is no log. */
bool mpr_digest_look(struct mpr_digest_source *source, const char *log);
/* Does the digest say what one would that is made now? */
bool mpr_digest_is_fresh(const struct mpr_digest *digest, const struct mpr_digest_source *now);

#endif
