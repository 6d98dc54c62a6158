/* Lacks of memory as records: one for each of a device's, each group of refusals of host memory,
 * and each process that was killed for host memory or is at its limit. */
#include "mpf/sample.h"
#include "report_oom.h"
#include "reports.h"

/* Numbers that are not known, or are not asked, are UINT64_MAX. */
struct record {
    const char *log, *rank, *kind, *outcome, *heap, *thread, *maker;
    struct mpr_path path, python;
    uint64_t pid, time, bytes, needed, free, total, flushed, attempts, error, count;
};

#define OF(member) MPR_FIELD(record, member), .unless = MPR_UNKNOWN_AT_MAX

static const struct mpr_column columns[] = {
    { .key = "log", .type = MPR_TEXT, MPR_FIELD(record, log) },
    { .key = "pid", .type = MPR_COUNT, MPR_FIELD(record, pid) },
    { .key = "rank", .type = MPR_TEXT, MPR_FIELD(record, rank) },
    { .key = "kind", .type = MPR_TEXT, MPR_FIELD(record, kind) },
    { .key = "outcome", .type = MPR_TEXT, MPR_FIELD(record, outcome) },
    { .key = "time_ns", .type = MPR_TIME, OF(time) },
    { .key = "heap", .type = MPR_TEXT, MPR_FIELD(record, heap) },
    { .key = "thread", .type = MPR_TEXT, MPR_FIELD(record, thread) },
    { .key = "library", .type = MPR_TEXT, MPR_FIELD(record, maker) },
    { .key = "path", MPR_PATH_FIELD(record, path), .unless = MPR_ABSENT_AT_0 },
    { .key = "python", MPR_PATH_FIELD(record, python), .unless = MPR_ABSENT_AT_0 },
    { .key = "bytes", .type = MPR_BYTES, OF(bytes) },
    { .key = "needed_bytes", .type = MPR_BYTES, OF(needed) },
    { .key = "free_bytes", .type = MPR_BYTES, OF(free) },
    { .key = "total_bytes", .type = MPR_BYTES, OF(total) },
    { .key = "flushed_bytes", .type = MPR_BYTES, OF(flushed) },
    { .key = "driver_refusals", .type = MPR_COUNT, OF(attempts) },
    { .key = "errno", .type = MPR_COUNT, OF(error) },
    { .key = "count", .type = MPR_COUNT, OF(count) },
};

static struct record record_of(const struct mpr_ooms_log *log, const char *kind,
                               const char *outcome)
{
    const struct mpr_process_info *who = &log->summary.process;
    return (struct record){ .log = log->summary.path,
                            .rank = who->rank,
                            .kind = kind,
                            .outcome = outcome,
                            .heap = "host",
                            .thread = "",
                            .maker = "",
                            .pid = who->pid,
                            .bytes = UINT64_MAX,
                            .needed = UINT64_MAX,
                            .free = UINT64_MAX,
                            .total = UINT64_MAX,
                            .flushed = UINT64_MAX,
                            .attempts = UINT64_MAX,
                            .error = UINT64_MAX,
                            .count = 1 };
}

static struct record of_device(const struct mpr_ooms_log *log, const struct mpr_oom_story *s)
{
    struct record r = record_of(log, "device", s->hard ? "hard" : "got_over");
    r.time = s->time;
    r.heap = mpr_heap_name(s->heap);
    r.thread = s->thread;
    r.maker = s->library;
    r.path = s->path;
    r.python = s->python;
    r.bytes = s->bytes;
    r.needed = s->needed;
    r.free = s->free;
    r.total = s->total;
    r.flushed = s->flushed;
    r.attempts = s->attempts;
    return r;
}

static struct record of_refusal(const struct mpr_ooms_log *log, const struct mpr_host_refusal *f)
{
    struct record r = record_of(log, "host", "refused");
    r.time = f->time;
    r.heap = mpr_heap_name(f->heap);
    r.thread = f->thread;
    r.path = f->path;
    r.bytes = f->largest;
    r.error = f->error;
    r.count = f->count;
    return r;
}

/* What was free is what its cgroup had left. */
static struct record of_end(const struct mpr_ooms_log *log)
{
    const struct mpr_host_story *s = &log->host;
    const uint64_t *cgroup = s->cgroup.value;
    struct record r = record_of(log, "host", s->killed ? "killed" : "at_limit");
    r.time = s->end;
    if (!s->cgroup.valid || cgroup[MPF_CGROUP_LIMIT] == MPF_UNKNOWN) return r;
    r.total = cgroup[MPF_CGROUP_LIMIT];
    if (cgroup[MPF_CGROUP_USAGE] <= r.total) r.free = r.total - cgroup[MPF_CGROUP_USAGE];
    return r;
}

static size_t most_of(const struct mpr_ooms *ooms)
{
    size_t most = 0;
    for (size_t i = 0; i < ooms->logs; i++)
        most += ooms->log[i].stories + ooms->log[i].host.refusals + 1;
    return most;
}

void mpr_report_oom_records(struct mpr_document *doc, const struct mpr_ooms *ooms)
{
    struct record *row = mpr_arena_alloc(&doc->arena, most_of(ooms) * sizeof *row);
    size_t rows = 0;
    for (size_t i = 0; i < ooms->logs; i++) {
        const struct mpr_ooms_log *log = &ooms->log[i];
        for (size_t k = 0; k < log->stories; k++) row[rows++] = of_device(log, &log->story[k]);
        if (!log->host.told) continue;
        for (size_t k = 0; k < log->host.refusals; k++)
            row[rows++] = of_refusal(log, &log->host.refusal[k]);
        if (log->host.killed || log->host.full) row[rows++] = of_end(log);
    }
    mpr_doc_table(
        doc, &(struct mpr_table){ .only = MPR_IN_CSV, MPR_COLUMNS(columns), MPR_ROWS(row, rows) });
    mpr_doc_csv(doc, columns);
}
