/* What happened, on one screen: how it ended, what the devices and heaps held, who held most, what
 * is worth a change, and what to ask next. */
#include <stdlib.h>
#include <string.h>

#include "insights.h"
#include "mpf/sample.h"
#include "report_device.h"
#include "report_hint.h"
#include "report_rows.h"
#include "reports.h"
#include "shell.h"

enum { OWNERS = 5, FINDINGS = 3 };

/* ---- the lack of memory */

#define OF_OOM(member) MPR_FIELD(mpr_insights_oom, member)

// clang-format off
static const struct mpr_column oom_fields[] = {
    { .key = "time_ns", .type = MPR_TIME, OF_OOM(time) },
    { .key = "heap", .type = MPR_WORD, OF_OOM(heap) },
    { .key = "path", MPR_PATH_FIELD(mpr_insights_oom, path, depth) },
    { .key = "asked_bytes", .type = MPR_BYTES, OF_OOM(asked) },
    { .key = "free_bytes", .type = MPR_BYTES, OF_OOM(free), .unless = MPR_UNKNOWN_AT_MAX },
    { .key = "total_bytes", .type = MPR_BYTES, OF_OOM(total), .unless = MPR_UNKNOWN_AT_MAX },
};
// clang-format on

static void ran_out(struct mpr_document *doc, const struct mpr_insights_oom *o)
{
    if (!o->told) return;
    mpr_doc_open(doc, "oom");
    mpr_doc_facts(doc, oom_fields, o);
    mpr_doc_close(doc);
    mpr_doc_add(doc, MPR_WARN, "OUT OF MEMORY");
    mpr_doc_say(doc, " on gpu%u at %s%s: asked %s", o->device, mpr_doc_time(doc, o->time),
                o->capturing ? ", while a graph was captured" : "", mpr_doc_size(doc, o->asked));
    if (o->free != MPF_UNKNOWN)
        mpr_doc_say(doc, ", %s free of %s", mpr_doc_size(doc, o->free),
                    mpr_doc_size(doc, o->total));
    if (o->depth) mpr_doc_say(doc, ", in %s", mpr_report_telling(doc, o->path, o->depth));
    mpr_doc_end_wrapped(doc, 2);
}

/* ---- devices and heaps */

static void devices(struct mpr_document *doc, const struct mpr_insights *in)
{
    const struct mpr_log_peaks *log = &in->peaks.log[0];
    if (!log->devices) return;
    mpr_doc_list(doc, "devices");
    for (size_t i = 0; i < log->devices; i++) {
        const struct mpr_device *d = &log->device[i];
        const bool out = in->oom.told && in->oom.device == d->index;
        mpr_doc_open(doc, NULL);
        mpr_doc_fact(doc, "index", mpr_value_number(MPR_COUNT, d->index));
        mpr_doc_fact(doc, "name", mpr_value_text(d->name));
        mpr_report_account(doc, d, out ? &in->oom.state : &d->peak,
                           out ? "when memory ran out" : "peak");
        mpr_doc_close(doc);
    }
    mpr_doc_close(doc);
}

static struct mpr_value inside(const void *row, const void *context)
{
    const struct mpr_heap_peak *h = row;
    (void)context;
    return h->inside ? mpr_value_text(h->inside) : mpr_value_absent;
}

#define OF_HEAP(member) MPR_FIELD(mpr_heap_peak, member)

// clang-format off
static const struct mpr_column heap_columns[] = {
    { .key = "heap", .title = "heap", .type = MPR_WORD, OF_HEAP(name), .width = 14 },
    { .key = "inside", .get = inside, .only = MPR_IN_JSON },
    { .key = "peak_bytes", .title = "peak", .type = MPR_BYTES, OF_HEAP(peak_bytes),
      .estimate = true },
    { .key = "peak_time_ns", .title = "at", .type = MPR_TIME, OF_HEAP(peak_time) },
    { .key = "end_bytes", .title = "at end", .type = MPR_BYTES, OF_HEAP(end_bytes),
      .estimate = true },
    { .key = "blocks_at_peak", .type = MPR_COUNT, OF_HEAP(peak_blocks) },
    { .key = "allocations", .title = "allocations", .type = MPR_COUNT, OF_HEAP(allocations), .width = 14,
      .estimate = true, .spare = 1 },
};
// clang-format on

static bool is_inside(const void *row) { return ((const struct mpr_heap_peak *)row)->inside; }

static void inside_lines(struct mpr_document *doc, const struct mpr_log_peaks *log)
{
    for (size_t i = 0; i < log->heaps; i++) {
        if (!log->heap[i].inside) continue;
        mpr_doc_say(doc, "%s", log->heap[i].name);
        mpr_report_inside(doc, log->heap[i].inside);
        mpr_doc_end(doc);
    }
}

static void heaps(struct mpr_document *doc, const struct mpr_log_peaks *log)
{
    mpr_doc_table(doc, &(struct mpr_table){ .key = "heaps",
                                            .title = "heap",
                                            .only = MPR_EVERYWHERE,
                                            MPR_COLUMNS(heap_columns),
                                            MPR_ROWS(log->heap, log->heaps),
                                            .all = MPR_EVERYWHERE,
                                            .estimated = is_inside,
                                            .flush = true });
    inside_lines(doc, log);
    if (log->heaps) return;
    mpr_doc_gap(doc);
    mpr_doc_line(doc, "no allocations were recorded");
}

/* ---- owners */

struct owned {
    const char *of, *bytes;
    const struct mpr_row *row;
    size_t rows;
    uint64_t whole;
};

static const struct mpr_heap_peak *heap_named(const struct mpr_log_peaks *log, const char *name)
{
    for (size_t i = 0; i < log->heaps; i++)
        if (strcmp(log->heap[i].name, name) == 0) return &log->heap[i];
    return NULL;
}

/* Of those that are no part of another one. */
static const struct mpr_heap_peak *largest_of(const struct mpr_log_peaks *log)
{
    for (size_t i = 0; i < log->heaps; i++)
        if (!log->heap[i].inside) return &log->heap[i];
    return NULL;
}

/* Of the device that ran out of memory; else of the largest heap: PyTorch's blocks rather than the
 * segments that they lie in. */
static struct owned owners_of(struct mpr_document *doc, const struct mpr_insights *in)
{
    const struct mpr_log_peaks *log = &in->peaks.log[0];
    const struct mpr_device_state *s = &in->oom.state;
    if (in->oom.told && s->rows)
        return (struct owned){ mpr_arena_format(&doc->arena, "gpu%u/torch", in->oom.device),
                               "at the OOM", s->row, s->rows, s->torch_live };
    const struct mpr_heap_peak *h = largest_of(log), *torch = NULL;
    const char *device = h ? strstr(h->name, "/device") : NULL;
    if (device)
        torch = heap_named(
            log, mpr_arena_format(&doc->arena, "%.*s/torch", (int)(device - h->name), h->name));
    if (torch) h = torch;
    if (!h) return (struct owned){ .of = "", .bytes = "" };
    return (struct owned){ h->name, "at the peak", h->row, h->rows, h->peak_bytes };
}

#define OF_ROW(member) MPR_FIELD(mpr_row, member)

static const struct mpr_column owner_columns[] = {
    { .key = "path", MPR_PATH_FIELD(mpr_row, path, depth) },
    { .key = "bytes", .type = MPR_BYTES, OF_ROW(bytes), .sums = true },
    { .key = "blocks", .type = MPR_COUNT, OF_ROW(blocks) },
};

static void owners(struct mpr_document *doc, const struct mpr_insights *in)
{
    const struct owned o = owners_of(doc, in);
    if (!o.rows) return;
    mpr_doc_fact(doc, "owners_of", mpr_value_text(o.of));
    mpr_doc_table(doc, &(struct mpr_table){ .key = "owners",
                                            .only = MPR_IN_JSON,
                                            MPR_COLUMNS(owner_columns),
                                            MPR_ROWS(o.row, o.rows) });
    mpr_report_rows(doc, &(struct mpr_rows){ .row = o.row,
                                             .rows = o.rows,
                                             .by = in->peaks.log[0].choice.by,
                                             .of = o.of,
                                             .bytes = o.bytes,
                                             .whole = o.whole,
                                             .top = OWNERS });
}

/* ---- what to ask next */

static void ask(struct mpr_document *doc, bool *first, const char *report, const char *path)
{
    mpr_doc_command(doc, "%s memprof-report %s %s", *first ? "next:" : "     ", report,
                    mpr_shell_word(&doc->arena, path));
    *first = false;
}

static bool host_death(const struct mpr_summary *s)
{
    return s->oom != MPR_FATE_NO_OOM || (!s->complete && s->life == MPR_ENDED);
}

static void next(struct mpr_document *doc, const struct mpr_insights *in)
{
    const struct mpr_summary *s = &in->peaks.log[0].summary;
    bool first = true;
    mpr_doc_gap(doc);
    if (in->oom.told || host_death(s)) ask(doc, &first, "oom", s->path);
    ask(doc, &first, "peaks", s->path);
    if (in->findings > FINDINGS) ask(doc, &first, "insights", s->path);
    ask(doc, &first, "html -o page.html", s->path);
}

static void findings(struct mpr_document *doc, const struct mpr_insights *in)
{
    mpr_report_finding_fields(doc, in);
    if (!in->findings) return;
    mpr_doc_gap(doc);
    mpr_doc_line(doc, "findings: what each would save of the peak, at most");
    mpr_report_findings(doc, in, FINDINGS);
}

void mpr_report_summary(struct mpr_document *doc, const struct mpr_insights *in)
{
    const struct mpr_log_peaks *log = &in->peaks.log[0];
    mpr_report_schema(doc, "memprof.summary/1");
    mpr_report_log(doc, &log->summary);
    if (in->family) mpr_report_family(doc, in->family);
    ran_out(doc, &in->oom);
    devices(doc, in);
    heaps(doc, log);
    owners(doc, in);
    mpr_report_hint(doc, log);
    findings(doc, in);
    next(doc, in);
    mpr_doc_csv(doc, heap_columns);
}
