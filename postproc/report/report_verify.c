/* Whether logs are complete, and up to which byte. */
#include <inttypes.h>

#include "reports.h"
#include "summary.h"

#define OF(member) MPR_FIELD(mpr_summary, member)

/* The log is whole up to this offset, and up to good_ns. */
static uint64_t good_bytes(const struct mpr_summary *s)
{
    if (s->bad_offset != MPR_NOWHERE) return s->bad_offset;
    return s->cut ? s->cut_offset : s->bytes;
}

MPR_VALUE(good, mpr_summary, s, mpr_value_number(MPR_BYTES, good_bytes(s)))

static const struct mpr_column fields[] = {
    { .key = "frames", .type = MPR_COUNT, OF(frames) },
    { .key = "log_bytes", .type = MPR_BYTES, OF(bytes) },
    { .key = "good_bytes", .type = MPR_BYTES, .get = good },
};

static const struct mpr_column record[] = {
    { .key = "log", .type = MPR_TEXT, OF(path) },
    { .key = "incomplete", .type = MPR_FLAG, OF(incomplete) },
    { .key = "complete", .type = MPR_FLAG, OF(complete) },
    { .key = "recovered_from_journal", .type = MPR_FLAG, OF(journal) },
    { .key = "good_bytes", .type = MPR_BYTES, .get = good },
    { .key = "log_bytes", .type = MPR_BYTES, OF(bytes) },
    { .key = "good_until_ns", .type = MPR_TIME, OF(good_ns) },
    { .key = "damaged_places", .type = MPR_COUNT, OF(damaged) },
    { .key = "missing_frames", .type = MPR_COUNT, OF(missing_frames) },
    { .key = "lost_events", .type = MPR_COUNT, OF(lost_events) },
};

/* @detailed: people see more than the verdict. */
static void one_log(struct mpr_document *doc, const struct mpr_summary *s, bool detailed)
{
    mpr_doc_set_epoch(doc, s->process.start_ns);
    mpr_doc_line(doc, "%s: %s, %s, whole up to offset %" PRIu64 " of %" PRIu64 " and time %s",
                 s->path, s->incomplete ? "INCOMPLETE" : "good",
                 mpr_doc_counted(doc, s->frames, "frame", "frames"), good_bytes(s), s->bytes,
                 mpr_doc_time(doc, s->good_ns));
    mpr_report_log_fields(doc, s);
    if (detailed) mpr_report_log_lines(doc, s);
    if (detailed) mpr_report_losses(doc, s);
    mpr_doc_facts(doc, fields, s);
}

/* A report on one log has its fields at the top, one on several logs in a list. */
void mpr_report_verify(struct mpr_document *doc, const struct mpr_summary *log, size_t logs)
{
    size_t incomplete = 0;
    mpr_report_schema(doc, "memprof.verify/1");
    if (logs == 1) one_log(doc, log, true);
    else {
        mpr_doc_list(doc, "logs");
        for (size_t i = 0; i < logs; i++) {
            mpr_doc_open(doc, NULL);
            one_log(doc, &log[i], log[i].incomplete);
            mpr_doc_close(doc);
            incomplete += log[i].incomplete;
        }
        mpr_doc_close(doc);
        mpr_doc_fact(doc, "incomplete_logs", mpr_value_number(MPR_COUNT, incomplete));
        if (incomplete)
            mpr_doc_line(doc, "%s logs: %s good, %s INCOMPLETE", mpr_doc_count(doc, logs),
                         mpr_doc_count(doc, logs - incomplete), mpr_doc_count(doc, incomplete));
        else mpr_doc_line(doc, "%s logs: all good", mpr_doc_count(doc, logs));
    }
    mpr_doc_rows(doc, record, log, logs, .only = MPR_IN_CSV);
    mpr_doc_csv(doc, record);
}
