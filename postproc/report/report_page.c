/* The page's tables for browsers without scripts: the owners of each heap's peak. */
#include <inttypes.h>

#include "reports.h"
#include "row.h"
#include "timeline.h"
#include "user_frame.h"
#include "utf8.h"

enum { ROWS = 40 }; /* of each heap */

const char *mpr_report_label(struct mpr_document *doc, const struct mpr_summary *s)
{
    const struct mpr_process_info *p = &s->process;
    struct mpr_arena *a = &doc->arena;
    const char *text = p->argc ? mpr_report_command(doc, p) : s->path;
    if (*p->rank) text = mpr_arena_format(a, "%s, rank %s", text, p->rank);
    if (*p->host) text = mpr_arena_format(a, "%s, %s", text, p->host);
    return p->pid ? mpr_arena_format(a, "%s, pid %" PRIu64, text, p->pid) : text;
}

/* ---- heaps, whose rows are lines already */

static struct mpr_value path(const void *row, const void *context)
{
    const struct mpr_line *line = row;
    const struct mpr_frame_summary shown = { line->row.path, line->caller };
    struct mpr_document *doc = (struct mpr_document *)context;
    return mpr_value_path(mpr_frame_summary_path(&doc->arena, &shown));
}

#define OF(member) MPR_FIELD(mpr_line, row.member)

static const struct mpr_column columns[] = {
    { .title = "range", .type = MPR_PATH, .get = path },
    { .title = "at the peak", .type = MPR_BYTES, OF(bytes), .estimate = true },
    { .title = "bytes", .type = MPR_COUNT, OF(bytes), .estimate = true },
    { .title = "share", .type = MPR_SHARE, OF(bytes) },
    { .title = "blocks", .type = MPR_COUNT, OF(blocks), .estimate = true },
    { .title = "allocations", .type = MPR_COUNT, OF(allocations), .estimate = true },
};

static bool estimated(const void *row) { return ((const struct mpr_line *)row)->row.estimated; }

static void heap(struct mpr_document *doc, const struct mpr_timeline *t,
                 const struct mpr_heap_timeline *h)
{
    const size_t rows = h->peak_lines < ROWS ? h->peak_lines : ROWS;
    const char *about = h->is_approximate || h->inside ? "~" : "";
    const char *title = mpr_arena_format(
        &doc->arena, "%s: peak %s%s (%s%s bytes) at %s, at the end %s%s", mpr_heap_name(h->heap),
        about, mpr_doc_size(doc, h->peak_bytes), about, mpr_doc_count(doc, h->peak_bytes),
        mpr_doc_time(doc, h->peak_time), about, mpr_doc_size(doc, h->end_bytes));
    mpr_doc_rows(doc, columns, h->peak_line, rows, .title = title, .only = MPR_IN_PAGE,
                 .line = h->peak_line, .context = doc, .all = MPR_IN_PAGE, .whole = h->peak_bytes,
                 .estimated = estimated, .by = t->best.by);
    if (rows < h->peak_lines) mpr_doc_line(doc, "%zu more lines.", h->peak_lines - rows);
}

void mpr_report_page(struct mpr_document *doc, const struct mpr_timeline *t)
{
    const struct mpr_summary *s = &t->summary;
    mpr_doc_open(doc, NULL);
    mpr_doc_add(doc, MPR_STRONG, "%s", mpr_report_label(doc, s));
    mpr_doc_end(doc);
    if (s->incomplete) {
        mpr_doc_add(doc, MPR_STRONG, "The log is incomplete.");
        mpr_doc_add_plain(doc, " ");
    }
    mpr_doc_line(doc, "%s events, %s lost; ranges: %s", mpr_doc_count(doc, s->events),
                 mpr_doc_count(doc, s->lost_events), t->best.source);
    for (size_t i = 0; i < t->heaps; i++) heap(doc, t, &t->heap[i]);
    mpr_doc_close(doc);
}

void mpr_report_page_notes(struct mpr_document *doc, const struct mpr_timeline *t,
                           const struct mpr_insights *in)
{
    mpr_report_recording(doc, &t->summary.recording);
    if (in) mpr_report_hint_alone(doc, in);
}
