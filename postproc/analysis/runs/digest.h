/* A digest of a log: the figures of its reports in bounded size. `memprof-report log digest`
 * writes it, and `memprof-report ranks` merges digests.
 *
 * It is made by the analyses of the reports, so its numbers are those that reports print. A list
 * that would be too long has its largest rows. If its rows have a sum, a last row has the sum of
 * the others, so that sums are exact. Rows hold plain values, so one description of their
 * columns serves the writer and the reader.
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

// clang-format off
/* The tables: X(table, row, list, count).  Rows are struct mpr_digest_ROW, in `list` of struct mpr_digest. */
#define MPR_DIGEST_TABLES(X)                                                                       \
    X(processes, process, process, processes) /* one row */                                        \
    X(heaps, heap, heap, heaps)                                                                    \
    X(lines, line, line, lines)                                                                    \
    X(devices, device, device, devices)                                                            \
    X(device_parts, part, part, parts)                                                             \
    X(communicators, comm, comm, comms)                                                            \
    X(roles, role, role, roles)                                                                    \
    X(instances, instance, instance, instances)                                                    \
    X(ooms, oom, oom, ooms)                                                                        \
    X(findings, finding, finding, findings)                                                        \
    X(series, span, span, spans)

/* Rows: struct mpr_digest_process and so on. */
#define TABLE(table, row)                  struct mpr_digest_##row {
#define TEXT(row, column, member)          const char *member;
#define HEAP(row, column, member)          uint8_t member;
#define FLAG(row, column, member)          bool member;
#define NUMBER(row, type, column, member)  uint64_t member;
#define MAYBE(row, type, column, member)   uint64_t member;
#define SIGNED(row, column, member)        int64_t member;
#define END                                };
#include "digest.def"

struct mpr_digest {
    struct mpr_arena arena;
#define X(table, row, list, count) struct mpr_digest_##row *list; size_t count;
    MPR_DIGEST_TABLES(X)
#undef X
};
// clang-format on

/* Limits of the numbers of rows. LINES and SPANS apply to all heaps together, with a minimum and
 * a maximum for each heap; INSTANCES applies to each heap. */
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

/* Callbacks for texts of the report layer, which this layer cannot call. Texts are allocated in
 * the arena. */
struct mpr_digest_words {
    const struct mpr_naming *naming;
    /* Returns how the process ended, in a word or two. */
    const char *(*ended)(struct mpr_arena *arena, const struct mpr_summary *summary);
    struct mpr_finding_text (*finding)(struct mpr_arena *arena, const struct mpr_finding *finding);
};

/* Reads one log several times. Returns 0, or -1 with *error filled and nothing to free. */
int mpr_digest_make(struct mpr_digest *digest, const char *path,
                    const struct mpr_digest_words *words, const struct mpr_progress *progress,
                    struct mpr_error *error);
void mpr_digest_free(struct mpr_digest *digest);

/* Returns true if the log has not changed since the digest was made. */
bool mpr_digest_is_fresh(const struct mpr_digest *digest, const char *log);

#endif
