/* Whether logs are complete, and up to which byte. */
#include <inttypes.h>

#include "reports.h"
#include "verify.h"

#define OF(member) MPR_FIELD(mpr_verified, member)

static const struct mpr_column fields[] = {
    { .key = "frames", .type = MPR_COUNT, OF(summary.frames) },
    { .key = "log_bytes", .type = MPR_BYTES, OF(summary.bytes) },
    { .key = "good_bytes", .type = MPR_BYTES, OF(good_bytes) },
};

static const struct mpr_column record[] = {
    { .key = "log", .type = MPR_TEXT, OF(summary.path) },
    { .key = "incomplete", .type = MPR_FLAG, OF(summary.incomplete) },
    { .key = "complete", .type = MPR_FLAG, OF(summary.complete) },
    { .key = "recovered_from_journal", .type = MPR_FLAG, OF(summary.journal) },
    { .key = "good_bytes", .type = MPR_BYTES, OF(good_bytes) },
    { .key = "log_bytes", .type = MPR_BYTES, OF(summary.bytes) },
    { .key = "good_until_ns", .type = MPR_TIME, OF(summary.good_ns) },
    { .key = "damaged_places", .type = MPR_COUNT, OF(summary.damaged) },
    { .key = "missing_frames", .type = MPR_COUNT, OF(summary.missing_frames) },
    { .key = "lost_events", .type = MPR_COUNT, OF(summary.lost_events) },
};

static void verdict(struct mpr_document *doc, const struct mpr_verified *v)
{
    const struct mpr_summary *s = &v->summary;
    mpr_doc_set_epoch(doc, s->process.start_ns);
    mpr_doc_line(doc, "%s: %s, %s, whole up to offset %" PRIu64 " of %" PRIu64 " and time %s",
                 s->path, s->incomplete ? "INCOMPLETE" : "good",
                 mpr_doc_counted(doc, s->frames, "frame", "frames"), v->good_bytes, s->bytes,
                 mpr_doc_time(doc, s->good_ns));
}

/* @detailed: people see more than the verdict. */
static void one_log(struct mpr_document *doc, const struct mpr_verified *v, bool detailed)
{
    verdict(doc, v);
    mpr_report_log_fields(doc, &v->summary);
    if (detailed) mpr_report_log_lines(doc, &v->summary);
    if (detailed) mpr_report_losses(doc, &v->summary);
    mpr_doc_facts(doc, fields, v);
}

/* A report on one log has its fields at the top instead. */
static void several(struct mpr_document *doc, const struct mpr_verify *v)
{
    mpr_doc_list(doc, "logs");
    for (size_t i = 0; i < v->logs; i++) {
        mpr_doc_open(doc, NULL);
        one_log(doc, &v->log[i], v->log[i].summary.incomplete);
        mpr_doc_close(doc);
    }
    mpr_doc_close(doc);
    mpr_doc_fact(doc, "incomplete_logs", mpr_value_number(MPR_COUNT, v->incomplete));
    if (v->incomplete)
        mpr_doc_line(doc, "%s logs: %s good, %s INCOMPLETE", mpr_doc_count(doc, v->logs),
                     mpr_doc_count(doc, v->logs - v->incomplete),
                     mpr_doc_count(doc, v->incomplete));
    else mpr_doc_line(doc, "%s logs: all good", mpr_doc_count(doc, v->logs));
}

void mpr_report_verify(struct mpr_document *doc, const struct mpr_verify *v)
{
    mpr_report_schema(doc, "memprof.verify/1");
    if (v->logs == 1) one_log(doc, v->log, true);
    else several(doc, v);
    mpr_doc_rows(doc, record, v->log, v->logs, .only = MPR_IN_CSV);
    mpr_doc_csv(doc, record);
}
