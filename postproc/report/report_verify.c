/* Is a log whole? */
#include <inttypes.h>

#include "reports.h"
#include "verify.h"

#define OF(member) MPR_FIELD(mpr_verify, member)

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

void mpr_report_verify(struct mpr_document *doc, const struct mpr_verify *v)
{
    const struct mpr_summary *s = &v->summary;
    mpr_report_schema(doc, "memprof.verify/1");
    mpr_doc_began(doc, s->process.start_ns);
    mpr_doc_line(doc,
                 "%s: %s, %s frames, whole up to offset %" PRIu64 " of %" PRIu64 " and time %s",
                 s->path, s->incomplete ? "INCOMPLETE" : "good", mpr_doc_count(doc, s->frames),
                 v->good_bytes, s->bytes, mpr_doc_time(doc, s->good_ns));
    mpr_report_log(doc, s);
    mpr_report_losses(doc, s);
    mpr_doc_facts(doc, fields, v);
    mpr_doc_table(doc,
                  &(struct mpr_table){ .only = MPR_IN_CSV, MPR_COLUMNS(record), MPR_ROWS(v, 1) });
    mpr_doc_csv(doc, record);
}
