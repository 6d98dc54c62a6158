/* The heaps of a log: their numbers, and lines about them. */
#include <errno.h>
#include <string.h>

#include "peaks.h"
#include "reports.h"

#define OF_HEAP(member) MPR_FIELD(mpr_heap_peak, member)

struct mpr_value mpr_report_heap_peak(const void *row, const void *context)
{
    const struct mpr_heap_peak *h = row;
    (void)context;
    return mpr_value_about(h->peak_bytes, h->is_approximate);
}

/* ---- numbers: fields of an object, and a table for people */

// clang-format off
static const struct mpr_column heap_columns[] = {
    { .key = "heap", .title = "heap", .type = MPR_WORD, OF_HEAP(heap), .width = 14 },
    { .key = "peak_bytes", .title = "peak", .titled = true, .type = MPR_BYTES,
      .get = mpr_report_heap_peak, .estimate = true },
    { .key = "peak_time_ns", .title = "at", .type = MPR_TIME, OF_HEAP(peak_time) },
    { .key = "end_bytes", .title = "at end", .type = MPR_BYTES, OF_HEAP(end_bytes),
      .after = "frees", .estimate = true },
    { .key = "blocks_at_peak", .title = "blocks", .type = MPR_COUNT, OF_HEAP(peak_blocks),
      .width = 12, .spare = 3, .estimate = true },
    { .key = "end_blocks", .type = MPR_COUNT, OF_HEAP(end_blocks) },
    { .key = "allocations", .title = "allocations", .type = MPR_COUNT, OF_HEAP(allocations),
      .width = 14, .spare = 2, .estimate = true },
    { .key = "frees", .title = "frees", .type = MPR_COUNT, OF_HEAP(frees), .width = 14, .spare = 1,
      .estimate = true },
    { .key = "failures", .type = MPR_COUNT, OF_HEAP(failures) },
};
// clang-format on

static const struct mpr_column failure_fields[] = {
    { .key = "largest_failure_bytes", .type = MPR_BYTES, OF_HEAP(failure_bytes) },
    { .key = "largest_failure_time_ns", .type = MPR_TIME, OF_HEAP(failure_time) },
    { .key = "largest_failure_errno", .type = MPR_COUNT, OF_HEAP(failure_errno) },
};

static const struct mpr_column huge_failure_fields[] = {
    { .key = "huge_page_failures", .type = MPR_COUNT, OF_HEAP(huge_failures) },
    { .key = "largest_huge_page_failure_bytes", .type = MPR_BYTES, OF_HEAP(huge_failure_bytes) },
    { .key = "largest_huge_page_failure_time_ns", .type = MPR_TIME, OF_HEAP(huge_failure_time) },
    { .key = "largest_huge_page_failure_errno", .type = MPR_COUNT, OF_HEAP(huge_failure_errno) },
};

static const struct mpr_column instance_fields[] = {
    { .key = "range", .type = MPR_TEXT, OF_HEAP(instance.range) },
    { .key = "name", .type = MPR_TEXT, OF_HEAP(instance.name) },
    { .key = "number", .type = MPR_COUNT, OF_HEAP(instance.number) },
    { .key = "of", .type = MPR_COUNT, OF_HEAP(instance.of) },
    { .key = "open", .type = MPR_COUNT, OF_HEAP(instance.open) },
    { .key = "path", MPR_PATH_FIELD(mpr_heap_peak, instance.path) },
};

static const struct mpr_column touched_fields[] = {
    { .key = "touched_at_most_bytes", .type = MPR_BYTES, OF_HEAP(touched.bytes) },
    { .key = "touched_at_most_time_ns", .type = MPR_TIME, OF_HEAP(touched.time) },
};

void mpr_report_heap_fields(struct mpr_document *doc, const struct mpr_heap_peak *h)
{
    mpr_doc_facts(doc, heap_columns, h);
    if (h->failures) mpr_doc_facts(doc, failure_fields, h);
    if (h->huge_failures) mpr_doc_facts(doc, huge_failure_fields, h);
    if (h->touched.bytes != MPF_UNKNOWN) mpr_doc_facts(doc, touched_fields, h);
    if (*h->instance.name) mpr_doc_object(doc, "instance", instance_fields, h);
    if (h->instance.beyond) mpr_doc_fact(doc, "more_ranges_open", mpr_value_flag(true));
}

/* ---- lines about heaps */

void mpr_report_reserved(struct mpr_document *doc, const struct mpr_heap_peak *h)
{
    const struct mpr_touched *touched = &h->touched;
    const char *heap = mpr_heap_name(h->heap), *peak = mpr_doc_size(doc, h->peak_bytes);
    if (touched->bytes < h->peak_bytes)
        mpr_doc_line(doc,
                     touched->ever ? "%s: at most %s of %s was resident until %s"
                                   : "%s: at most %s of %s was resident or in swap (sample at %s)",
                     heap, mpr_doc_size(doc, touched->bytes), peak,
                     mpr_doc_time(doc, touched->time));
    if (touched->ever && touched->bytes >= h->peak_bytes / 2 &&
        h->sampled.bytes < h->peak_bytes / 2)
        mpr_doc_line(
            doc,
            "%s: the resident part of %s at the peak is not known; it was %s in the sample "
            "at %s",
            heap, peak, mpr_doc_size(doc, h->sampled.bytes), mpr_doc_time(doc, h->sampled.time));
}

void mpr_report_nested(struct mpr_document *doc, const struct mpr_log_peaks *log)
{
    for (size_t i = 0; i < log->heaps; i++)
        if (log->heap[i].nested)
            mpr_doc_line(
                doc,
                "%s: regions that libraries registered with NVTX, inside memory that other heaps count",
                mpr_heap_name(log->heap[i].heap));
}

/* Errors of device memory and pinned memory are those of the driver; 2 is out of memory. */
static void failures(struct mpr_document *doc, const struct mpr_heap_peak *h)
{
    const bool by_driver = mpf_heap_is_gpu(h->heap) || h->heap == MPF_HEAP_PINNED;
    if (h->failures) {
        mpr_doc_add(doc, MPR_WARN, "%s: %s, the largest %s at %s (%s)", mpr_heap_name(h->heap),
                    mpr_doc_counted(doc, h->failures, "failed allocation", "failed allocations"),
                    mpr_doc_size(doc, h->failure_bytes), mpr_doc_time(doc, h->failure_time),
                    !by_driver              ? strerror((int)h->failure_errno)
                    : h->failure_errno == 2 ? "CUDA: out of memory"
                                            : "CUDA: an error other than out of memory");
        mpr_doc_end(doc);
    }
    if (h->huge_failures)
        mpr_doc_line(
            doc, "%s: %s of huge pages, the largest %s at %s (%s)", mpr_heap_name(h->heap),
            mpr_doc_counted(doc, h->huge_failures, "failed allocation", "failed allocations"),
            mpr_doc_size(doc, h->huge_failure_bytes), mpr_doc_time(doc, h->huge_failure_time),
            h->huge_failure_errno == ENOMEM ? "the kernel's pool of huge pages was too small"
                                            : strerror((int)h->huge_failure_errno));
}

static bool estimated(const void *row) { return ((const struct mpr_heap_peak *)row)->estimated; }

void mpr_report_heap_table(struct mpr_document *doc, const struct mpr_log_peaks *log,
                           struct mpr_instant at, uint64_t tick)
{
    /* the state after an instant is not always the largest one */
    const char *bytes = at.settled ? "live" : NULL;
    mpr_doc_rows(doc, heap_columns, log->heap, log->heaps, .title = "heap", .only = MPR_FOR_PEOPLE,
                 .all = MPR_FOR_PEOPLE, .tick = tick, .estimated = estimated, .flush = true,
                 .lines = { .bytes_title = bytes });
    mpr_report_instances(doc, log, mpr_instant_is_peak(at));
    for (size_t i = 0; i < log->heaps; i++) {
        const struct mpr_heap_peak *h = &log->heap[i];
        if (!h->estimated || !h->inside) continue;
        mpr_doc_add_plain(
            doc, "%s: ~ estimated from samples; part of pymalloc's arenas, which host/mmap counts",
            mpr_heap_name(h->heap));
        mpr_report_arena_limit(doc, log, h);
        mpr_doc_end(doc);
    }
    mpr_report_nested(doc, log);
    for (size_t i = 0; i < log->heaps; i++) mpr_report_reserved(doc, &log->heap[i]);
    for (size_t i = 0; i < log->heaps; i++) failures(doc, &log->heap[i]);
    if (log->heaps) return;
    mpr_doc_gap(doc);
    mpr_doc_line(doc, "no allocations were recorded");
}

/* ---- the instances of repeated ranges in which the peaks are */

/* Returns "step:8 (instance 8 of 12), in forward > loss" or "step 7 (instance 8 of 12)";
 * "request:70 and 7 more (instance 70 of 90)" if others were open at the same time; "" if the
 * peak is in no instance. */
static const char *instance_text(struct mpr_document *doc, const struct mpr_peak_instance *i)
{
    struct mpr_arena *arena = &doc->arena;
    if (!*i->name) return i->beyond ? "an unknown range, because more than 256 were open" : "";
    const char *inside =
        i->path.depth ? mpr_arena_format(arena, ", in %s", mpr_doc_path(doc, i->path)) : "";
    const char *more = "";
    if (i->open > 1)
        more = mpr_arena_format(arena, " and %s %s", mpr_doc_count(doc, i->open - 1),
                                i->beyond ? "or more" : "more");
    return mpr_arena_format(arena, "%s%s (instance %s of %s)%s", i->name, more,
                            mpr_doc_count(doc, i->number), mpr_doc_count(doc, i->of), inside);
}

void mpr_report_instances(struct mpr_document *doc, const struct mpr_log_peaks *log, bool at_peak)
{
    for (size_t i = 0, next; i < log->heaps; i = next) {
        const struct mpr_heap_peak *h = &log->heap[i];
        const char *names = mpr_heap_name(h->heap), *in = instance_text(doc, &h->instance);
        for (next = i + 1; next < log->heaps; next++) {
            const struct mpr_heap_peak *other = &log->heap[next];
            if (strcmp(instance_text(doc, &other->instance), in) != 0) break;
            names = mpr_arena_format(&doc->arena, "%s, %s", names, mpr_heap_name(other->heap));
        }
        if (*in) mpr_doc_line(doc, "%s: %s in %s", names, at_peak ? "peak" : "then", in);
    }
}
