/* The tables of a digest.  A column that reports or the export also have has the same name there.
 */
#include "digest.h"
#include "digest_tables.h"

#define TEXT(row, column, member)                                                                  \
    {                                                                                              \
        .key = column, .type = MPR_TEXT, MPR_FIELD(row, member), .unless = MPR_UNKNOWN_AT_0        \
    }
#define NUMBER(row, kind, column, member)                                                          \
    {                                                                                              \
        .key = column, .type = kind, MPR_FIELD(row, member)                                        \
    }
#define MAYBE(row, kind, column, member)                                                           \
    {                                                                                              \
        .key = column, .type = kind, MPR_FIELD(row, member), .unless = MPR_UNKNOWN_AT_MAX          \
    }

// clang-format off
#define P mpr_digest_process
static const struct mpr_column processes[] = {
    TEXT(P, "file", file),
    TEXT(P, "host", host),
    NUMBER(P, MPR_COUNT, "process", pid),
    NUMBER(P, MPR_COUNT, "parent_process", ppid),
    TEXT(P, "rank", rank),
    TEXT(P, "program", program),
    TEXT(P, "ended", ended),
    NUMBER(P, MPR_TIME, "start_realtime_ns", start_ns),
    NUMBER(P, MPR_TIME, "duration_ns", duration_ns),
    NUMBER(P, MPR_FLAG, "complete", complete),
    NUMBER(P, MPR_FLAG, "incomplete", incomplete),
    NUMBER(P, MPR_FLAG, "ended_for_certain", ended_for_certain),
    NUMBER(P, MPR_COUNT, "events", events),
    NUMBER(P, MPR_COUNT, "lost_events", lost_events),
    MAYBE(P, MPR_TIME, "failed_ns", failed_ns),
    NUMBER(P, MPR_COUNT, "ooms_hard", ooms_hard),
    NUMBER(P, MPR_COUNT, "ooms_soft", ooms_soft),
    MAYBE(P, MPR_BYTES, "rss_high_bytes", rss_high),
    TEXT(P, "named_by", named),
    TEXT(P, "host_blocks", host_blocks),
    MAYBE(P, MPR_BYTES, "log_bytes", source.log_bytes),
    MAYBE(P, MPR_BYTES, "fold_bytes", source.fold_bytes),
    MAYBE(P, MPR_BYTES, "journal_bytes", source.journal_bytes),
};

#define H mpr_digest_heap
static const struct mpr_column heaps[] = {
    TEXT(H, "heap", heap),
    TEXT(H, "inside", inside),
    NUMBER(H, MPR_FLAG, "estimated", estimated),
    NUMBER(H, MPR_BYTES, "peak_bytes", peak_bytes),
    NUMBER(H, MPR_TIME, "peak_ns", peak_ns),
    NUMBER(H, MPR_COUNT, "peak_blocks", peak_blocks),
    NUMBER(H, MPR_BYTES, "end_bytes", end_bytes),
    NUMBER(H, MPR_COUNT, "end_blocks", end_blocks),
    NUMBER(H, MPR_COUNT, "allocations", allocations),
    NUMBER(H, MPR_COUNT, "frees", frees),
    NUMBER(H, MPR_COUNT, "failures", failures),
    TEXT(H, "peak_instance", instance),
};

#define L mpr_digest_line
static const struct mpr_column lines[] = {
    TEXT(L, "heap", heap),
    TEXT(L, "path", path),
    TEXT(L, "caller", caller),
    TEXT(L, "alike", alike),
    NUMBER(L, MPR_BYTES, "peak_bytes", bytes),
    NUMBER(L, MPR_COUNT, "peak_blocks", blocks),
    NUMBER(L, MPR_BYTES, "end_bytes", end_bytes),
    NUMBER(L, MPR_COUNT, "allocations", allocations),
    NUMBER(L, MPR_BYTES, "error_bytes", error_bytes),
    NUMBER(L, MPR_FLAG, "estimated", estimated),
    NUMBER(L, MPR_COUNT, "lines", lines),
};

#define D mpr_digest_device
static const struct mpr_column devices[] = {
    NUMBER(D, MPR_COUNT, "device", device),
    TEXT(D, "name", name),
    TEXT(D, "uuid", uuid),
    NUMBER(D, MPR_TIME, "peak_ns", peak_ns),
    MAYBE(D, MPR_BYTES, "used_bytes", used_bytes),
    MAYBE(D, MPR_BYTES, "total_bytes", total_bytes),
};

#define A mpr_digest_part
static const struct mpr_column device_parts[] = {
    NUMBER(A, MPR_COUNT, "device", device),
    TEXT(A, "part", part),
    TEXT(A, "name", name),
    NUMBER(A, MPR_SIGNED, "bytes", bytes),
};

#define C mpr_digest_comm
static const struct mpr_column communicators[] = {
    NUMBER(C, MPR_COUNT, "device", device),
    TEXT(C, "name", communicator),
    MAYBE(C, MPR_COUNT, "ranks", ranks),
    MAYBE(C, MPR_COUNT, "rank", rank),
    TEXT(C, "first_use", first_use),
    MAYBE(C, MPR_TIME, "first_ns", first_ns),
    NUMBER(C, MPR_BYTES, "bytes", bytes),
    NUMBER(C, MPR_COUNT, "blocks", blocks),
};

#define R mpr_digest_role
static const struct mpr_column roles[] = {
    TEXT(R, "heap", heap),
    TEXT(R, "role", role),
    NUMBER(R, MPR_TIME, "at_ns", at_ns),
    NUMBER(R, MPR_BYTES, "bytes", bytes),
    NUMBER(R, MPR_COUNT, "blocks", blocks),
};

#define I mpr_digest_instance
static const struct mpr_column instances[] = {
    TEXT(I, "heap", heap),
    TEXT(I, "range", range),
    TEXT(I, "name", name),
    NUMBER(I, MPR_COUNT, "number", number),
    NUMBER(I, MPR_COUNT, "instances", count),
    NUMBER(I, MPR_TIME, "begin_ns", begin_ns),
    NUMBER(I, MPR_TIME, "end_ns", end_ns),
    NUMBER(I, MPR_FLAG, "ended", ended),
    NUMBER(I, MPR_BYTES, "peak_bytes", peak_bytes),
    NUMBER(I, MPR_BYTES, "begin_bytes", begin_bytes),
    NUMBER(I, MPR_BYTES, "end_bytes", end_bytes),
};

#define O mpr_digest_oom
static const struct mpr_column ooms[] = {
    NUMBER(O, MPR_TIME, "time_ns", time_ns),
    NUMBER(O, MPR_COUNT, "device", device),
    TEXT(O, "heap", heap),
    TEXT(O, "thread", thread),
    TEXT(O, "path", path),
    NUMBER(O, MPR_BYTES, "asked_bytes", asked_bytes),
    MAYBE(O, MPR_BYTES, "free_bytes", free_bytes),
    MAYBE(O, MPR_BYTES, "total_bytes", total_bytes),
    NUMBER(O, MPR_FLAG, "got_over", got_over),
};

#define F mpr_digest_finding
static const struct mpr_column findings[] = {
    TEXT(F, "finding", finding),
    TEXT(F, "place", where),
    NUMBER(F, MPR_BYTES, "saves_at_most_bytes", saves_at_most_bytes),
    NUMBER(F, MPR_FLAG, "estimated", estimated),
    TEXT(F, "what", what),
    TEXT(F, "path", path),
    TEXT(F, "change", change),
    TEXT(F, "report", report),
};

#define S mpr_digest_span
static const struct mpr_column series[] = {
    TEXT(S, "heap", heap),
    NUMBER(S, MPR_TIME, "start_ns", start_ns),
    NUMBER(S, MPR_TIME, "time_of_max_ns", time_of_max_ns),
    NUMBER(S, MPR_BYTES, "max_bytes", max_bytes),
    NUMBER(S, MPR_BYTES, "min_bytes", min_bytes),
    NUMBER(S, MPR_BYTES, "close_bytes", close_bytes),
};
// clang-format on

const struct mpr_digest_table mpr_digest_table[] = {
#define X(name, row, list, number)                                                                 \
    { { #name, "", MPR_COLUMNS(name) },                                                            \
      offsetof(struct mpr_digest, list),                                                           \
      offsetof(struct mpr_digest, number),                                                         \
      sizeof(struct row) },
    MPR_DIGEST_LISTS(X)
#undef X
};
const size_t mpr_digest_tables = sizeof mpr_digest_table / sizeof *mpr_digest_table;
