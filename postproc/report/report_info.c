/* The contents of a log: counts of events, threads, the header. */
#include "info.h"
#include "mpf/sample.h"
#include "reports.h"

#define OF(member) MPR_FIELD(mpr_info, member)

static const struct mpr_column fields[] = {
    { .key = "log_bytes", .type = MPR_BYTES, OF(summary.bytes) },
    { .key = "fold_bytes", .type = MPR_BYTES, OF(summary.fold.bytes), .unless = MPR_ABSENT_AT_0 },
    { .key = "journal_bytes", .type = MPR_BYTES, OF(summary.journal_bytes) },
    { .key = "memprof_bytes", .type = MPR_BYTES, OF(own_memory), .unless = MPR_UNKNOWN_AT_MAX },
    { .key = "frames", .type = MPR_COUNT, OF(summary.frames) },
    { .key = "names", .type = MPR_COUNT, OF(names) },
    { .key = "domains", .type = MPR_COUNT, OF(domains) },
    { .key = "paths", .type = MPR_COUNT, OF(paths) },
};

// clang-format off
static const struct mpr_column count_columns[] = {
    MPR_LOG_COLUMN,
    { .key = "event", .title = "event", .type = MPR_WORD, MPR_FIELD(mpr_info_count, name),
      .width = 16 },
    { .key = "count", .title = "", .type = MPR_COUNT, MPR_FIELD(mpr_info_count, events),
      .width = 16 },
    { .title = "", .type = MPR_TEXT, MPR_FIELD(mpr_info_count, text) },
};
// clang-format on

MPR_VALUE(ended, mpr_info_thread, t, mpr_value_text(t->ended ? "ended" : ""))

// clang-format off
static const struct mpr_column thread_columns[] = {
    { .key = "number", .title = "number", .type = MPR_COUNT, MPR_FIELD(mpr_info_thread, number),
      .width = 8 },
    { .key = "name", .title = "name", .type = MPR_TEXT, MPR_FIELD(mpr_info_thread, name),
      .after = "first_event_ns", .width = 24 },
    { .key = "first_event_ns", .title = "from", .type = MPR_TIME,
      MPR_FIELD(mpr_info_thread, first_ns) },
    { .key = "ended", .title = "", .type = MPR_FLAG, MPR_FIELD(mpr_info_thread, ended),
      MPR_SHOWN(MPR_TEXT, ended), .after = "name" },
};

#define N mpr_info_nvtx
static const struct mpr_column heap_columns[] = {
    { .key = "heap", .title = "heap", .type = MPR_TEXT, MPR_FIELD(N, heap), .width = 20 },
    { .key = "heaps", .title = "heaps", .type = MPR_COUNT, MPR_FIELD(N, heaps), .width = 8,
      .spare = 4 },
    { .key = "size_bytes", .title = "size", .type = MPR_BYTES, MPR_FIELD(N, size) },
    { .key = "peak_bytes", .title = "peak", .type = MPR_BYTES, MPR_FIELD(N, peak_bytes) },
    { .key = "peak_ns", .title = "at", .type = MPR_TIME, MPR_FIELD(N, peak_time),
      .spare = 5 },
    { .key = "peak_regions", .title = "regions", .type = MPR_COUNT, MPR_FIELD(N, peak_blocks),
      .width = 9, .spare = 3 },
    { .key = "end_bytes", .title = "at end", .type = MPR_BYTES, MPR_FIELD(N, end_bytes) },
    { .key = "end_regions", .type = MPR_COUNT, MPR_FIELD(N, end_blocks) },
    { .key = "allocations", .title = "in all", .type = MPR_COUNT, MPR_FIELD(N, allocations),
      .width = 10, .spare = 2 },
    { .key = "resets", .title = "resets", .type = MPR_COUNT, MPR_FIELD(N, resets), .width = 8,
      .spare = 1 },
};
static const struct mpr_column region_columns[] = {
    { .key = "region", .title = "region", .type = MPR_TEXT, MPR_FIELD(N, region), .width = 20 },
    { .key = "peak_bytes", .title = "at the peak", .type = MPR_BYTES, MPR_FIELD(N, peak_bytes) },
    { .key = "peak_regions", .title = "regions", .type = MPR_COUNT, MPR_FIELD(N, peak_blocks),
      .width = 9, .spare = 2 },
    { .key = "end_bytes", .title = "at end", .type = MPR_BYTES, MPR_FIELD(N, end_bytes) },
    { .key = "end_regions", .type = MPR_COUNT, MPR_FIELD(N, end_blocks) },
    { .key = "allocations", .title = "in all", .type = MPR_COUNT, MPR_FIELD(N, allocations),
      .width = 10, .spare = 1 },
    { .key = "heap", .title = "of heap", .type = MPR_TEXT, MPR_FIELD(N, heap), .width = 12,
      .spare = 3 },
};
#undef N

static const struct mpr_column header_columns[] = {
    { .key = "key", .title = "key", .type = MPR_TEXT, MPR_FIELD(mpr_info_pair, key) },
    { .key = "value", .title = "", .type = MPR_TEXT, MPR_FIELD(mpr_info_pair, value),
      .lead = " = " },
};
// clang-format on

/* ---- lines */

static void sizes(struct mpr_document *doc, const struct mpr_info *info)
{
    const struct mpr_summary *s = &info->summary;
    mpr_doc_gap(doc);
    if (s->process.argc)
        mpr_doc_line(doc, "command  %s", mpr_report_shell_command(&doc->arena, &s->process));
    mpr_doc_add_plain(doc, "log      %s in %s, format %u.%u", mpr_doc_size(doc, s->bytes),
                      mpr_doc_counted(doc, s->frames, "frame", "frames"), s->major, s->minor);
    if (s->events)
        mpr_doc_add_plain(doc, ", %.2f bytes an event", (double)s->bytes / (double)s->events);
    mpr_doc_end(doc);
    if (s->fold.bytes || s->fold.events)
        mpr_doc_line(doc, "thinned  %s in LOG.fold, %s events removed, granularity %s",
                     mpr_doc_size(doc, s->fold.bytes), mpr_doc_count(doc, s->fold.events),
                     mpr_doc_duration(doc, s->fold.grain_ns));
    mpr_doc_line(doc, "journal  %s read, %s events", mpr_doc_size(doc, s->journal_bytes),
                 mpr_doc_count(doc, s->journal_events));
    if (info->own_memory != MPF_UNKNOWN)
        mpr_doc_line(doc, "memprof  %s of resident memory at most, journal included",
                     mpr_doc_size(doc, info->own_memory));
    mpr_doc_line(doc, "ranges   %s, %s, %s", mpr_doc_counted(doc, info->names, "name", "names"),
                 mpr_doc_counted(doc, info->domains, "domain", "domains"),
                 mpr_doc_counted(doc, info->paths, "path", "paths"));
    mpr_doc_line(doc, "order    %s", mpr_doc_counted(doc, s->order_repairs, "repair", "repairs"));
    if (s->inherited_frees)
        mpr_doc_line(doc, "frees    %s of blocks %s", mpr_doc_count(doc, s->inherited_frees),
                     s->attached ? "from before the attach" : "inherited from the parent process");
}

void mpr_report_info(struct mpr_document *doc, const struct mpr_info *info)
{
    mpr_report_schema(doc, "memprof.info/1");
    mpr_report_log(doc, &info->summary);
    mpr_report_losses(doc, &info->summary);
    mpr_doc_facts(doc, fields, info);
    sizes(doc, info);
    mpr_doc_rows(doc, count_columns, info->count, info->counts, .key = "counts", .title = "events",
                 .shape = MPR_MEMBERS, .context = &info->summary, .only = MPR_EVERYWHERE,
                 .all = MPR_EVERYWHERE);
    mpr_doc_rows(doc, thread_columns, info->thread, info->threads, .key = "threads",
                 .title = mpr_arena_format(&doc->arena, "threads: %zu", info->threads),
                 .all = MPR_IN_JSON);
    if (info->heaps)
        mpr_doc_rows(doc, heap_columns, info->heap, info->heaps, .key = "nvtx_heaps",
                     .title = "heaps registered with NVTX", .all = MPR_IN_JSON);
    if (info->regions)
        mpr_doc_rows(doc, region_columns, info->region, info->regions, .key = "nvtx_regions",
                     .title = "their regions by name", .all = MPR_IN_JSON);
    mpr_doc_rows(doc, header_columns, info->header, info->headers, .key = "header",
                 .title = "header", .shape = MPR_LISTS, .all = MPR_EVERYWHERE);
    mpr_doc_csv(doc, count_columns);
}
