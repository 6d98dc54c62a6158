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

// clang-format off
/* Rows: struct mpr_digest_process and so on. */
#define TABLE(table, row)                  struct mpr_digest_##row {
#define TEXT(row, column, member)          const char *member;
#define HEAP(row, column, member)          uint8_t member;
#define FLAG(row, column, member)          bool member;
#define NUMBER(row, type, column, member)  uint64_t member;
#define MAYBE(row, type, column, member)   uint64_t member;
#define SIGNED(row, column, member)        int64_t member;
#define END(table, row, list, count)       };
#include "digest.def"

struct mpr_digest {
    struct mpr_arena arena;
    /* One process. */
#define TABLE(table, row)
#define TEXT(row, column, member)
#define HEAP(row, column, member)
#define FLAG(row, column, member)
#define NUMBER(row, type, column, member)
#define MAYBE(row, type, column, member)
#define SIGNED(row, column, member)
#define END(table, row, list, count)       struct mpr_digest_##row *list; size_t count;
#include "digest.def"
};
// clang-format on

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
