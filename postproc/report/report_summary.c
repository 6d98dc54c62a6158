/* One screen about a log: out-of-memory failures, the peaks of devices and heaps with their largest
 * owners, the first findings, and commands for more. */
#include <stdlib.h>
#include <string.h>

#include "insights.h"
#include "mpf/sample.h"
#include "readings.h"
#include "report_device.h"
#include "report_oom.h"
#include "report_rows.h"
#include "reports.h"
#include "utf8.h"

enum { OWNERS = 5, MORE_OWNERS = 3, FINDINGS = 3 };

/* ---- out of memory */

#define OF_OOM(member) MPR_FIELD(mpr_insights_oom, member)

static const struct mpr_column oom_fields[] = {
    { .key = "time_ns", .type = MPR_TIME, OF_OOM(time) },
    { .key = "heap", .type = MPR_WORD, OF_OOM(heap) },
    { .key = "path", MPR_PATH_FIELD(mpr_insights_oom, path) },
    { .key = "asked_bytes", .type = MPR_BYTES, OF_OOM(asked) },
    { .key = "free_bytes", .type = MPR_BYTES, OF_OOM(free), .unless = MPR_UNKNOWN_AT_MAX },
    { .key = "total_bytes", .type = MPR_BYTES, OF_OOM(total), .unless = MPR_UNKNOWN_AT_MAX },
};

void mpr_report_ran_out(struct mpr_document *doc, const struct mpr_insights_oom *o)
{
    mpr_doc_add(doc, MPR_WARN, "OUT OF MEMORY");
    mpr_doc_add_plain(doc, " on gpu%u at %s%s: requested %s", o->device, mpr_doc_time(doc, o->time),
                      o->capturing ? ", while a graph was captured" : "",
                      mpr_doc_size(doc, o->asked));
    if (o->free != MPF_UNKNOWN) mpr_doc_add_plain(doc, ", %s free", mpr_doc_size(doc, o->free));
    if (o->free != MPF_UNKNOWN && o->total != MPF_UNKNOWN)
        mpr_doc_add_plain(doc, " of %s", mpr_doc_size(doc, o->total));
    if (o->own_limit) mpr_doc_add_plain(doc, "; %s", mpr_report_own_limit);
    if (o->path.depth) mpr_doc_add_plain(doc, ", in %s", mpr_report_path_words(doc, o->path));
    mpr_doc_end_wrapped(doc, 2);
}

static void ran_out(struct mpr_document *doc, const struct mpr_insights_oom *o)
{
    if (!o->told) return;
    mpr_doc_object(doc, "oom", oom_fields, o);
    mpr_report_ran_out(doc, o);
}

#define OF_REFUSED(member) MPR_FIELD(mpr_refused_request, member)

static const struct mpr_column refused_fields[] = {
    { .key = "time_ns", .type = MPR_TIME, OF_REFUSED(time) },
    { .key = "heap", .type = MPR_WORD, OF_REFUSED(heap) },
    { .key = "path", MPR_PATH_FIELD(mpr_refused_request, path) },
    { .key = "asked_bytes", .type = MPR_BYTES, OF_REFUSED(bytes) },
    { .key = "errno", .type = MPR_COUNT, OF_REFUSED(error) },
    { .key = "limit", .type = MPR_WORD, OF_REFUSED(limit.name), .unless = MPR_UNKNOWN_AT_0 },
    { .key = "limit_bytes", .type = MPR_BYTES, OF_REFUSED(limit.bytes), .unless = MPR_ABSENT_AT_0 },
    { .key = "failures", .type = MPR_COUNT, OF_REFUSED(count) },
};

void mpr_report_refused(struct mpr_document *doc, const struct mpr_refused_request *r)
{
    mpr_doc_add(doc, MPR_WARN, "REFUSED");
    mpr_doc_add_plain(doc, " %s of %s at %s", mpr_doc_size(doc, r->bytes), mpr_heap_name(r->heap),
                      mpr_doc_time(doc, r->time));
    if (r->limit.name)
        mpr_doc_add_plain(doc, ", %s is %s", r->limit.name, mpr_doc_size(doc, r->limit.bytes));
    if (r->path.depth) mpr_doc_add_plain(doc, ", in %s", mpr_report_path_words(doc, r->path));
    if (r->count > 1) mpr_doc_add_plain(doc, "; %s failed in total", mpr_doc_count(doc, r->count));
    mpr_doc_end_wrapped(doc, 2);
}

static void refused(struct mpr_document *doc, const struct mpr_refused_request *r)
{
    if (!r->count) return;
    mpr_doc_object(doc, "refused", refused_fields, r);
    mpr_report_refused(doc, r);
}

/* ---- devices and heaps */

#define OF_HEAP(member) MPR_FIELD(mpr_heap_peak, member)

MPR_VALUE(instance_range, mpr_heap_peak, h,
          *h->instance.name ? mpr_value_text(h->instance.range) : mpr_value_absent)

// clang-format off
static const struct mpr_column heap_columns[] = {
    MPR_LOG_COLUMN,
    { .key = "heap", .title = "heap", .type = MPR_WORD, OF_HEAP(heap), .width = 14 },
    { .key = "inside", .type = MPR_TEXT, OF_HEAP(inside), .unless = MPR_ABSENT_AT_0,
      .only = MPR_IN_JSON },
    { .key = "peak_bytes", .title = "peak", .type = MPR_BYTES, .get = mpr_report_heap_peak,
      .estimate = true },
    { .key = "peak_time_ns", .title = "at", .type = MPR_TIME, OF_HEAP(peak_time) },
    { .key = "end_bytes", .title = "at end", .type = MPR_BYTES, OF_HEAP(end_bytes),
      .estimate = true },
    { .key = "blocks_at_peak", .type = MPR_COUNT, OF_HEAP(peak_blocks) },
    { .key = "peak_range", .get = instance_range, .only = MPR_IN_JSON },
    { .key = "peak_instance", .type = MPR_TEXT, OF_HEAP(instance.name), .unless = MPR_ABSENT_AT_0,
      .only = MPR_IN_JSON },
    { .key = "peak_instance_number", .type = MPR_COUNT, OF_HEAP(instance.number),
      .unless = MPR_ABSENT_AT_0, .only = MPR_IN_JSON },
    { .key = "peak_instances", .type = MPR_COUNT, OF_HEAP(instance.of), .unless = MPR_ABSENT_AT_0,
      .only = MPR_IN_JSON },
    { .key = "allocations", .title = "allocations", .type = MPR_COUNT, OF_HEAP(allocations),
      .width = 14, .estimate = true, .spare = 1 },
    { .key = "touched_at_most_bytes", .type = MPR_BYTES, OF_HEAP(touched.bytes),
      .unless = MPR_ABSENT_AT_MAX, .only = MPR_IN_JSON },
    { .key = "inside", .type = MPR_TEXT, OF_HEAP(inside), .unless = MPR_ABSENT_AT_0,
      .only = MPR_IN_CSV },
    { .key = "estimated", .type = MPR_FLAG, OF_HEAP(estimated), .only = MPR_IN_CSV },
};
// clang-format on

static bool is_estimated(const void *row)
{
    const struct mpr_heap_peak *h = row;
    return h->inside || h->estimated;
}

/* If no range of the program shows which step the peak is in, PyTorch's passes do. */
static void passes(struct mpr_document *doc, const struct mpr_insights *in)
{
    static const char torch[] = "torch:";
    const struct mpr_breakdown *b = &in->breakdown;
    for (size_t i = 0; in->has_breakdown && b->ran && i < b->heaps; i++) {
        const struct mpr_heap_peak *h = mpr_peaks_heap(&in->peaks.log[0], b->heap[i].heap);
        if (!h || h->peak_time != b->heap[i].time) continue;
        if (*h->instance.name && strncmp(h->instance.range, torch, strlen(torch)) != 0) continue;
        mpr_doc_line(doc, "%s: peak %s", mpr_heap_name(h->heap),
                     mpr_report_pass(doc, b, &b->heap[i]));
    }
}

/* Limits count resident memory, whereas the heaps' bytes are those that were requested. */
static void resident(struct mpr_document *doc, const struct mpr_log_peaks *log)
{
    mpr_doc_fact(doc, "rss_high_water_bytes",
                 mpr_value_known(MPR_BYTES, log->rss_high, MPF_UNKNOWN));
    mpr_report_reading_peak(doc, "rss_peak", &log->rss_peak);
    mpr_report_reading_peak(doc, "cgroup_peak", &log->cgroup_peak);
    const bool leads = mpr_peaks_rss_leads(log);
    if (!log->heaps && !leads) return;
    if (leads) mpr_doc_gap(doc);
    if (mpr_report_rss_peak(doc, log)) mpr_doc_end_wrapped(doc, 2);
    mpr_report_resident(doc, log, leads);
}

static void heaps(struct mpr_document *doc, const struct mpr_insights *in)
{
    const struct mpr_log_peaks *log = &in->peaks.log[0];
    mpr_doc_rows(doc, heap_columns, log->heap, log->heaps, .key = "heaps", .title = "heap",
                 .only = MPR_EVERYWHERE, .all = MPR_EVERYWHERE, .estimated = is_estimated,
                 .flush = true);
    mpr_report_instances(doc, log, true);
    passes(doc, in);
    for (size_t i = 0; i < log->heaps; i++) {
        if (!log->heap[i].inside) continue;
        mpr_doc_add_plain(doc, "%s", mpr_heap_name(log->heap[i].heap));
        mpr_report_inside(doc, log->heap[i].inside);
        mpr_report_arena_limit(doc, log, &log->heap[i]);
        mpr_doc_end(doc);
    }
    mpr_report_nested(doc, log);
    for (size_t i = 0; i < log->heaps; i++)
        if (log->heap[i].sampled.bytes < log->heap[i].peak_bytes / 2)
            mpr_report_reserved(doc, &log->heap[i]);
    /* PyTorch counts this memory although the device has unmapped it. */
    for (size_t i = 0; i < log->devices; i++) {
        const struct mpr_device *d = &log->device[i];
        if (d->peak.valid && d->peak.torch_asleep)
            mpr_doc_line(doc, "gpu%u/torch: %s of it was asleep (unmapped) at gpu%u's peak",
                         d->index, mpr_doc_size(doc, d->peak.torch_asleep), d->index);
    }
    if (!mpr_peaks_rss_leads(log)) resident(doc, log);
    if (log->heaps) return;
    mpr_doc_gap(doc);
    mpr_doc_line(doc, "no allocations were recorded");
}

/* ---- owners */

static struct mpr_owners owned_at(const struct mpr_heap_peak *h, const char *at)
{
    return (struct mpr_owners){ h->heap, at, h->row, h->rows, h->peak_bytes, NULL };
}

/* The blocks on a device that are not asleep. */
static struct mpr_owners awake(unsigned device, const char *at, const struct mpr_device_state *s)
{
    return (struct mpr_owners){ mpf_heap_gpu(MPF_HEAP_TORCH, device),
                                at,
                                s->row,
                                s->rows,
                                s->torch_live,
                                s->asleeps ? s : NULL };
}

/* Returns the largest heap that is not part of another one, or NULL. */
static const struct mpr_heap_peak *largest_heap(const struct mpr_log_peaks *log)
{
    for (size_t i = 0; i < log->heaps; i++)
        if (!log->heap[i].inside && !log->heap[i].nested) return &log->heap[i];
    return NULL;
}

struct mpr_owners mpr_report_summary_owners(const struct mpr_insights *in)
{
    const struct mpr_log_peaks *log = &in->peaks.log[0];
    const struct mpr_heap_peak *h = largest_heap(log);
    if (in->oom.told && in->oom.state.rows)
        return awake(in->oom.device, "at the OOM", &in->oom.state);
    if (!h) return (struct mpr_owners){ .bytes = "" };
    const struct mpr_heap_peak *torch = mpr_peaks_heap(log, mpr_heap_torch_of(h->heap));
    if (torch) h = torch;
    for (size_t i = 0; i < log->devices; i++) {
        const struct mpr_device *d = &log->device[i];
        if (d->peak.valid && d->peak.asleeps && h->heap == mpf_heap_gpu(MPF_HEAP_TORCH, d->index))
            return awake(d->index, "at the peak", &d->peak);
    }
    return owned_at(h, "at the peak");
}

/* @title: the heap for people, @stack: the heap in flame graphs, or NULL for none. */
static void owner_table(struct mpr_document *doc, const struct mpr_insights *in, const char *key,
                        const char *title, const char *stack, const struct mpr_owners *o,
                        size_t top)
{
    const enum mpr_group by = in->peaks.log[0].choice.by;
    const char *omitted = mpr_arena_format(&doc->arena, "%s_omitted_bytes", key);
    mpr_doc_rows(doc, mpr_row_columns, o->row, o->rows, .key = key,
                 .title = mpr_report_heading(doc, title, by), .whole = o->whole, .top = top,
                 .by = by, .omitted = strcmp(key, "owners") == 0 ? NULL : omitted,
                 .lines = { .merged = true, .bytes_title = o->bytes, .siblings = true },
                 .folded = { stack, NULL, stack ? "bytes" : NULL });
}

/* The owners when resident memory was highest, if they are others than at the heap's peak and hold
 * a good part of it. */
static void owners_at_rss_peak(struct mpr_document *doc, const struct mpr_insights *in)
{
    if (!in->at_rss.logs) return;
    const struct mpr_log_peaks *log = &in->peaks.log[0];
    const struct mpr_heap_peak *then = largest_heap(&in->at_rss.log[0]), *peak = largest_heap(log);
    if (!then || !then->rows || then->peak_bytes < log->rss_peak.bytes / 4) return;
    if (peak && peak->heap == then->heap && peak->peak_bytes / 8 * 7 <= then->peak_bytes &&
        mpr_frame_compare_paths(peak->row->path, then->row->path) == 0)
        return;
    const char *name = mpr_heap_name(then->heap);
    const struct mpr_owners o = owned_at(then, "at the RSS peak");
    mpr_doc_fact(doc, "rss_owners_of", mpr_value_text(name));
    owner_table(doc, in, "rss_owners", name, NULL, &o, MORE_OWNERS);
}

/* Python's small objects fill arenas that no owner of the heap allocated.  They are part of those
 * bytes, so no sum includes them. */
static void small_objects(struct mpr_document *doc, const struct mpr_insights *in, uint8_t of)
{
    const struct mpr_log_peaks *log = &in->peaks.log[0];
    for (size_t i = 0; i < log->heaps; i++) {
        const struct mpr_heap_peak *h = &log->heap[i];
        if (!h->inside || h->inside != of || !h->rows) continue;
        const char *name = mpr_heap_name(h->heap);
        const struct mpr_owners inside = owned_at(h, "at its peak");
        mpr_doc_fact(doc, "owners_inside_of", mpr_value_text(name));
        owner_table(doc, in, "owners_inside",
                    mpr_arena_format(&doc->arena, "%s, in these arenas,", name), name, &inside,
                    MORE_OWNERS);
    }
}

/* Names the largest owner at the end if it had not half as much at the peak. */
static void largest_at_end(struct mpr_document *doc, const struct mpr_owners *o)
{
    enum { WORTH_BYTES = 16 << 20 };
    const struct mpr_row *largest = o->row;
    for (const struct mpr_row *row = o->row; row < o->row + o->rows; row++)
        if (row->end_bytes > largest->end_bytes) largest = row;
    if (largest->end_bytes < WORTH_BYTES || largest->bytes >= largest->end_bytes / 2) return;
    mpr_doc_line(doc, "  at the end: %s%s in %s", largest->estimated ? "~" : "",
                 mpr_doc_size(doc, largest->end_bytes), mpr_report_path_words(doc, largest->path));
}

static void owners(struct mpr_document *doc, const struct mpr_insights *in)
{
    const struct mpr_owners o = mpr_report_summary_owners(in);
    if (!o.rows) return;
    const char *of = mpr_heap_name(o.of);
    mpr_doc_fact(doc, "owners_of", mpr_value_text(of));
    owner_table(doc, in, "owners", o.asleep ? mpr_arena_format(&doc->arena, "%s, backed", of) : of,
                of, &o, OWNERS);
    if (!o.asleep && !in->oom.told) largest_at_end(doc, &o);
    /* Modules come from Python stacks, whatever the owners are grouped by. */
    const struct mpr_heap_peak *h =
        in->has_breakdown && !o.asleep ? mpr_peaks_heap(&in->by_python.log[0], o.of) : NULL;
    if (h) mpr_report_modules(doc, h->row, h->rows, h->peak_bytes);
    else mpr_report_modules(doc, o.row, o.rows, o.whole);
    if (o.asleep) {
        const struct mpr_device_state *s = o.asleep;
        const char *asleep = mpr_arena_format(&doc->arena, "%s, asleep", of);
        owner_table(doc, in, "owners_asleep", asleep, asleep,
                    &(struct mpr_owners){ o.of, "not in use", s->asleep, s->asleeps,
                                          s->torch_asleep, NULL },
                    MORE_OWNERS);
    } else small_objects(doc, in, o.of);
}

/* ---- commands for more */

static void ask(struct mpr_document *doc, bool *first, const char *report, const char *path)
{
    mpr_doc_label(doc, MPR_PLAIN, 0, 5, *first ? "next:" : "");
    mpr_doc_command(doc, " memprof-report %s %s", report, mpr_doc_log_word(doc, path));
    *first = false;
}

void mpr_report_next(struct mpr_document *doc, const struct mpr_insights *in,
                     const struct mpr_ranks *ranks)
{
    const struct mpr_summary *s = &in->peaks.log[0].summary;
    bool first = true;
    if (ranks) ask(doc, &first, "ranks", mpr_report_folder(doc, s->path));
    const char *run = in->family ? mpr_report_folder(doc, s->path) : s->path;
    if (in->oom.told || in->refused.count || in->died)
        ask(doc, &first, "oom", in->oom.told && in->oom.state.shares ? run : s->path);
    bool grows = false;
    for (size_t i = 0; i < in->findings; i++) grows |= in->finding[i].kind == MPR_FINDING_GROWTH;
    if (grows) ask(doc, &first, "leaks", s->path);
    ask(doc, &first, "peaks", s->path);
    if (in->findings > FINDINGS) ask(doc, &first, "summary --all", s->path);
    ask(doc, &first, "html -o page.html", s->path);
}

void mpr_report_summary(struct mpr_document *doc, const struct mpr_insights *in,
                        const struct mpr_ranks *ranks)
{
    const struct mpr_log_peaks *log = &in->peaks.log[0];
    mpr_report_schema(doc, "memprof.summary/1");
    if (ranks) mpr_report_job(doc, ranks, in);
    mpr_report_log(doc, &log->summary);
    if (in->family) mpr_report_family(doc, in->family, log->summary.path, ranks != NULL);
    ran_out(doc, &in->oom);
    refused(doc, &in->refused);
    if (in->findings) {
        mpr_doc_gap(doc);
        mpr_doc_line(doc, "findings, each with the most that it can save");
        mpr_report_findings(doc, in, FINDINGS);
    }
    mpr_report_accounts(doc, log->device, log->devices, "peak",
                        in->oom.told ? &in->oom.state : NULL, in->oom.device);
    if (mpr_peaks_rss_leads(log)) resident(doc, log);
    owners_at_rss_peak(doc, in);
    heaps(doc, in);
    owners(doc, in);
    mpr_report_hint_alone(doc, in);
    mpr_report_finding_fields(doc, in);
    mpr_doc_gap(doc);
    mpr_report_next(doc, in, ranks);
    mpr_doc_csv(doc, heap_columns);
}
