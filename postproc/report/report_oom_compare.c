/* Several processes at the instant of the first failure. */
#include <inttypes.h>
#include <stdlib.h>

#include "amount.h"
#include "mpf/sample.h"
#include "readings.h"
#include "report_oom.h"
#include "report_rows.h"
#include "reports.h"

/* ---- processes */

struct process {
    struct mpr_path name;
    uint64_t rss, private, host, device, torch;
};

#define BYTES(name, member, without)                                                               \
    {                                                                                              \
        .title = name, .type = MPR_BYTES, MPR_FIELD(process, member),                              \
        .unless = MPR_UNKNOWN_AT_MAX, .sums = true, .spare = without                               \
    }

static const struct mpr_column process_columns[] = {
    { .title = "process", MPR_PATH_FIELD(process, name) },
    BYTES("RSS", rss, 0),
    BYTES("private", private, 1),
    BYTES("live host", host, 3),
    BYTES("live GPU", device, 0),
    BYTES("torch live", torch, 2),
};

const char *mpr_report_oom_process(struct mpr_document *doc, const struct mpr_summary *s)
{
    const struct mpr_process_info *p = &s->process;
    if (!*p->rank) return mpr_arena_format(&doc->arena, "pid %" PRIu64, p->pid);
    return mpr_arena_format(&doc->arena, "rank %.20s, pid %" PRIu64, p->rank, p->pid);
}

static struct process process_of(struct mpr_document *doc, const struct mpr_ooms_log *log)
{
    const struct mpr_process_info *p = &log->summary.process;
    const struct mpr_failure_state *t = &log->at_failure;
    const char *const name[] = { mpr_report_program(doc, p),
                                 mpr_report_oom_process(doc, &log->summary) };
    struct process row = { .name = mpr_frame_labels(&doc->arena, name, 2),
                           .rss = mpr_reading_resident_bytes(&t->rss),
                           .host = t->host };
    row.private = t->rss.valid ? t->rss.value[MPF_RSS_PRIVATE_DIRTY] : MPF_UNKNOWN;
    if (row.rss == MPF_UNKNOWN && log->summary.hwm) row.rss = log->summary.hwm;
    if (!t->devices) row.device = row.torch = MPF_UNKNOWN;
    for (size_t k = 0; k < t->devices; k++)
        row.device += t->device[k].tracked, row.torch += t->device[k].torch;
    return row;
}

static void processes(struct mpr_document *doc, const struct mpr_ooms *ooms)
{
    struct process *row = mpr_arena_alloc(&doc->arena, ooms->logs * sizeof *row);
    size_t rows = 0;
    for (size_t i = 0; i < ooms->logs; i++)
        if (ooms->log[i].at_failure.alive) row[rows++] = process_of(doc, &ooms->log[i]);
    mpr_doc_rows(doc, process_columns, row, rows, .title = "processes at the failure",
                 .only = MPR_FOR_PEOPLE, .total = "sum (RSS counts shared pages repeatedly)");
}

#define OF_DEVICE(member) MPR_FIELD(mpr_failure_device, member)

static const struct mpr_column process_devices[] = {
    { .key = "index", .type = MPR_COUNT, OF_DEVICE(index) },
    { .key = "uuid", .type = MPR_TEXT, OF_DEVICE(uuid) },
    { .key = "used_bytes", .type = MPR_BYTES, OF_DEVICE(used), .unless = MPR_UNKNOWN_AT_MAX },
    { .key = "tracked_bytes", .type = MPR_BYTES, OF_DEVICE(tracked) },
    { .key = "torch_bytes", .type = MPR_BYTES, OF_DEVICE(torch) },
};

static void process_fields(struct mpr_document *doc, const struct mpr_ooms_log *log)
{
    const struct mpr_failure_state *t = &log->at_failure;
    mpr_doc_open(doc, NULL);
    mpr_doc_fact(doc, "path", mpr_value_text(log->summary.path));
    mpr_doc_fact(doc, "time_ns", mpr_value_number(MPR_TIME, t->time));
    mpr_report_reading(doc, "rss", MPR_READ_RSS, &t->rss);
    mpr_doc_fact(doc, "host_bytes", mpr_value_number(MPR_BYTES, t->host));
    mpr_doc_objects(doc, "devices", process_devices, t->device, t->devices);
    mpr_doc_close(doc);
}

/* ---- devices */

static struct mpr_path name_of(struct mpr_document *doc, const struct mpr_device_sum *d)
{
    const char *const name[] = { d->host, d->name,
                                 mpr_arena_format(&doc->arena, "%.12s", d->uuid) };
    return mpr_frame_labels(&doc->arena, name, 3);
}

MPR_VALUE(device_name, mpr_device_sum, d, mpr_value_path(name_of(doc, d)))

#define OF_SUM(member) MPR_FIELD(mpr_device_sum, member)

// clang-format off
static const struct mpr_column device_columns[] = {
    { .title = "device", .type = MPR_PATH, .get = device_name },
    { .key = "host", .type = MPR_TEXT, OF_SUM(host) },
    { .key = "uuid", .type = MPR_TEXT, OF_SUM(uuid) },
    { .key = "name", .type = MPR_TEXT, OF_SUM(name) },
    { .key = "used_bytes", .title = "used", .type = MPR_BYTES, OF_SUM(used),
      .unless = MPR_UNKNOWN_AT_MAX },
    { .key = "total_bytes", .title = "of", .type = MPR_BYTES, OF_SUM(total),
      .unless = MPR_UNKNOWN_AT_MAX },
    { .key = "tracked_bytes", .title = "live", .type = MPR_BYTES, OF_SUM(tracked), .spare = 3 },
    { .key = "torch_bytes", .title = "torch live", .type = MPR_BYTES, OF_SUM(torch),
      .spare = 2 },
    { .key = "processes", .title = "processes", .type = MPR_COUNT, OF_SUM(processes), .width = 12,
      .spare = 1 },
};
// clang-format on

static void devices(struct mpr_document *doc, const struct mpr_ooms *ooms, unsigned only)
{
    mpr_doc_rows(doc, device_columns, ooms->sum, ooms->sums, .key = "devices",
                 .title = "devices at the failure, all processes", .only = only,
                 .all = MPR_EVERYWHERE);
}

/* ---- ends of processes */

static uint64_t end_of(const struct mpr_ooms_log *log)
{
    return log->summary.process.start_ns + log->summary.duration_ns;
}

static int by_end(const void *left, const void *right)
{
    const struct mpr_ooms_log *const *a = left, *const *b = right;
    const uint64_t x = end_of(*a), y = end_of(*b);
    return x < y ? -1 : x > y;
}

/* The ends that the run's record has, in order. */
static void ends(struct mpr_document *doc, const struct mpr_ooms *ooms)
{
    const struct mpr_ooms_log **log = mpr_arena_alloc(&doc->arena, ooms->logs * sizeof *log);
    size_t count = 0;
    for (size_t i = 0; i < ooms->compared_logs; i++)
        if (ooms->log[i].summary.fate == MPR_FATE_SIGNAL ||
            ooms->log[i].summary.fate == MPR_FATE_EXIT)
            log[count++] = &ooms->log[i];
    if (!count) return;
    qsort(log, count, sizeof *log, by_end);
    for (size_t i = 0; i < count && i < MPR_TOP; i++) {
        const struct mpr_summary *s = &log[i]->summary;
        mpr_doc_add_plain(doc, "%s pid %" PRIu64 " %s", i ? ";" : "ends:", s->process.pid,
                          mpr_report_fate(&doc->arena, s));
        if (i) {
            mpr_doc_add_plain(doc, " %.3f s later",
                              (double)mpr_saturating_sub(end_of(log[i]), end_of(log[0])) / 1e9);
            continue;
        }
        mpr_doc_set_epoch(doc, s->process.start_ns);
        mpr_doc_add_plain(doc, " at %s", mpr_doc_time(doc, s->duration_ns));
    }
    if (count > MPR_TOP) mpr_doc_add_plain(doc, "; %zu more", count - MPR_TOP);
    mpr_doc_end(doc);
}

/* ---- all */

static void heading(struct mpr_document *doc, const struct mpr_ooms *ooms)
{
    const struct mpr_ooms_log *first = &ooms->log[0];
    const struct mpr_process_info *p = &first->summary.process;
    const char *how = mpr_report_fate(&doc->arena, &first->summary);
    mpr_doc_set_epoch(doc, p->start_ns);
    if (first->summary.fate == MPR_FATE_UNKNOWN && first->host.full) how = "killed";
    if (ooms->device_failure) how = "device memory";
    mpr_doc_add(doc, MPR_STRONG, "%zu of %zu processes failed, the first", ooms->failed,
                ooms->processes);
    if (*p->rank) mpr_doc_add_plain(doc, " rank %s", p->rank);
    mpr_doc_line(doc, " pid %" PRIu64 ", %s after its start: %s", p->pid,
                 mpr_doc_time(doc, mpr_saturating_sub(ooms->first_failure, p->start_ns)), how);
}

void mpr_report_oom_comparison(struct mpr_document *doc, const struct mpr_ooms *ooms)
{
    if (!ooms->compared) return;
    heading(doc, ooms);
    ends(doc, ooms);
    processes(doc, ooms);
    devices(doc, ooms, MPR_FOR_PEOPLE);
    if (ooms->against.valid) {
        mpr_doc_gap(doc);
        mpr_doc_line(
            doc, "the first process that failed, compared with the median of the other %zu, by %s",
            ooms->others, mpr_group_word(ooms->by));
        mpr_report_growth_rows(doc,
                               ooms->device_failure ? "live device memory" : "live host memory",
                               &ooms->against, ooms->by);
    }
    mpr_doc_gap(doc);
}

void mpr_report_oom_first_failure(struct mpr_document *doc, const struct mpr_ooms *ooms)
{
    if (!ooms->compared) {
        mpr_doc_fact(doc, "first_failure", mpr_value_unknown);
        return;
    }
    mpr_doc_open(doc, "first_failure");
    mpr_doc_fact(doc, "path", mpr_value_text(ooms->log[0].summary.path));
    mpr_doc_fact(doc, "of", mpr_value_text(ooms->device_failure ? "device" : "host"));
    mpr_doc_fact(doc, "failed_processes", mpr_value_number(MPR_COUNT, ooms->failed));
    mpr_doc_list(doc, "processes");
    for (size_t i = 0; i < ooms->logs; i++)
        if (ooms->log[i].at_failure.alive) process_fields(doc, &ooms->log[i]);
    mpr_doc_close(doc);
    devices(doc, ooms, MPR_IN_JSON);
    mpr_report_growth(doc, "against_median", &ooms->against, NULL);
    mpr_doc_close(doc);
}
