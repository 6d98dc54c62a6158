/* The pages of malloc at one instant: bytes by use, the heaps with most free bytes, and the blocks
 * that pin them. */
#include <inttypes.h>

#include "amount.h"
#include "basename.h"
#include "mpf/sample.h"
#include "occupancy.h"
#include "report_rows.h"
#include "reports.h"

/* ---- heaps */

#define OF_HEAP(member) MPR_FIELD(mpr_occupancy_heap, member)

static const char *const kinds[] = { "break", "heap", "mapped", "region" };

static const char *name_of(struct mpr_document *doc, const struct mpr_occupancy_heap *h)
{
    if (h->kind == MPR_OCCUPANCY_BREAK) return "main heap";
    if (h->kind == MPR_OCCUPANCY_MAPPED) return "blocks with their own mapping";
    return mpr_arena_format(&doc->arena, "%#" PRIx64, h->addr);
}

MPR_VALUE(heap_name, mpr_occupancy_heap, h, mpr_value_text(name_of(doc, h)))

// clang-format off
static const struct mpr_column heap_columns[] = {
    { .key = "kind", .title = "heap", .type = MPR_WORD, OF_HEAP(kind), .words = kinds,
      MPR_SHOWN(MPR_TEXT, heap_name), .width = 30 },
    { .key = "address", .type = MPR_ADDRESS, OF_HEAP(addr),
      .unless = MPR_UNKNOWN_AT_0 },
    { .key = "bytes", .title = "bytes", .type = MPR_BYTES, OF_HEAP(bytes), .sums = true, .spare = 3 },
    { .key = "live_bytes", .title = "live", .type = MPR_BYTES, OF_HEAP(sum.live), .sums = true },
    { .key = "overhead_bytes", .type = MPR_BYTES, OF_HEAP(sum.overhead), .sums = true },
    { .key = "pinned_bytes", .title = "pinned", .type = MPR_BYTES, OF_HEAP(sum.pinned), .sums = true },
    { .key = "free_page_bytes", .title = "free pages", .type = MPR_BYTES, OF_HEAP(sum.free),
      .sums = true, .spare = 1 },
    { .key = "blocks", .title = "blocks", .type = MPR_COUNT, OF_HEAP(sum.blocks), .sums = true,
      .spare = 2 },
};
// clang-format on

/* ---- pins */

#define OF_PIN(member) MPR_FIELD(mpr_occupancy_pin, member)

MPR_VALUE_IN(pin_age, mpr_occupancy_pin, p, mpr_occupancy, o,
             mpr_value_number(MPR_TIME, mpr_saturating_sub(o->time, p->oldest_time)))

// clang-format off
static const struct mpr_column pin_columns[] = {
    MPR_LOG_COLUMN,
    { .key = "time_ns", .type = MPR_TIME, MPR_CONTEXT(mpr_occupancy, time), .only = MPR_IN_CSV },
    { .key = "path", .title = "path", MPR_PATH_FIELD(mpr_occupancy_pin, row.path) },
    MPR_SITE_COLUMNS,
    { .key = "pinned_bytes", .title = "pinned", .type = MPR_BYTES, OF_PIN(pinned),
      .share = MPR_SHARE_FIRST, .sums = true, .estimate = true },
    { .key = "blocks", .title = "blocks", .type = MPR_COUNT, OF_PIN(row.blocks),
      .estimate = true },
    { .key = "bytes", .title = "bytes", .type = MPR_BYTES, OF_PIN(row.bytes), .estimate = true,
      .spare = 2 },
    { .key = "oldest_ns", .title = "oldest's age", .type = MPR_TIME, OF_PIN(oldest_time),
      .merge = MPR_MERGE_MIN, MPR_SHOWN(MPR_TIME, pin_age), .lasting = true, .spare = 1 },
    { .key = "estimated", .type = MPR_FLAG, OF_PIN(row.estimated), .unless = MPR_OMITTED_AT_0 },
};
// clang-format on

static struct mpr_row row_of_pin(const void *row)
{
    const struct mpr_occupancy_pin *p = row;
    return (struct mpr_row){ .path = p->row.path, .bytes = p->pinned, .blocks = p->row.blocks };
}

static bool is_estimated(const void *row)
{
    return ((const struct mpr_occupancy_pin *)row)->row.estimated;
}

MPR_COMPARE(by_pinned, struct mpr_occupancy_pin,
            mpr_compare(b->pinned, a->pinned) ?: mpr_compare(b->row.bytes, a->row.bytes))

/* ---- sums */

#define OF(member) MPR_FIELD(mpr_occupancy, member)

/* Figures of the kernel are known together. */
#define MEASURED(name, member, type, value)                                                        \
    MPR_VALUE(name, mpr_occupancy, o,                                                              \
              o->measured.private == MPF_UNKNOWN ? mpr_value_unknown                               \
                                                 : value(type, o->measured.member))
MEASURED(untouched, untouched, MPR_BYTES, mpr_value_number)
MEASURED(mappings, mappings, MPR_BYTES, mpr_value_number)
MEASURED(top, top, MPR_BYTES, mpr_value_number)
MEASURED(returned, returned, MPR_BYTES, mpr_value_number)
MEASURED(unknown, unknown, MPR_SIGNED, mpr_value_amount)

static const char *const allocators[] = { "other", "glibc", "jemalloc", "tcmalloc", "mimalloc" };

// clang-format off
static const struct mpr_column fields[] = {
    { .key = "allocator", .type = MPR_WORD, OF(allocator), .words = allocators },
    { .key = "time_ns", .type = MPR_TIME, OF(time) },
    { .key = "blocks", .type = MPR_COUNT, OF(sum.blocks) },
    { .key = "live_bytes", .type = MPR_BYTES, OF(sum.live) },
    { .key = "overhead_bytes", .type = MPR_BYTES, OF(sum.overhead) },
    { .key = "pinned_bytes", .type = MPR_BYTES, OF(sum.pinned) },
    { .key = "free_page_bytes", .type = MPR_BYTES, OF(sum.free) },
    { .key = "page_bytes", .type = MPR_BYTES, OF(page_bytes) },
    { .key = "pages", .type = MPR_COUNT, OF(pages) },
    { .key = "pages_2mib", .type = MPR_COUNT, OF(huge_pages) },
    { .key = "private_bytes", .type = MPR_BYTES, OF(measured.private), .unless = MPR_UNKNOWN_AT_MAX },
    { .key = "untouched_bytes", .type = MPR_BYTES, .get = untouched },
    { .key = "mapping_bytes", .type = MPR_BYTES, .get = mappings },
    { .key = "top_bytes", .type = MPR_BYTES, .get = top },
    { .key = "returned_bytes", .type = MPR_BYTES, .get = returned },
    { .key = "unknown_bytes", .type = MPR_SIGNED, .get = unknown },
    { .key = "jemalloc_active_bytes", .type = MPR_BYTES, OF(measured.active), .unless = MPR_ABSENT_AT_MAX },
    { .key = "jemalloc_allocated_bytes", .type = MPR_BYTES, OF(measured.allocated),
      .unless = MPR_ABSENT_AT_MAX },
    { .key = "jemalloc_resident_bytes", .type = MPR_BYTES, OF(measured.resident),
      .unless = MPR_ABSENT_AT_MAX },
};
// clang-format on

static void part(struct mpr_document *doc, const char *name, uint64_t bytes, const char *text)
{
    mpr_doc_line(doc, "  %-16s %12s  %s", name, mpr_doc_size(doc, bytes), text);
}

/* The other private memory, by the kernel's figures. */
static void remainder_of(struct mpr_document *doc, const struct mpr_occupancy *o)
{
    const struct mpr_occupancy_measured *m = &o->measured;
    const bool glibc = o->allocator == MPR_MALLOC_GLIBC;
    const uint64_t unknown = (uint64_t)(m->unknown < 0 ? -m->unknown : m->unknown);
    if (m->untouched) part(doc, "untouched", m->untouched, "of live blocks, which is not resident");
    if (glibc) part(doc, "top", m->top, "free above the last live block of a heap, at most");
    mpr_doc_line(doc, "  %-16s %12s  %s", "unknown",
                 mpr_arena_format(&doc->arena, "%s%s", m->unknown < 0 ? "-" : "",
                                  mpr_doc_size(doc, unknown)),
                 glibc ? "private memory that is none of these"
                       : "private memory: free pages that the allocator keeps, or none of these");
}

static void sums(struct mpr_document *doc, const struct mpr_occupancy *o)
{
    static const char *const instant[] = { "when malloc kept most of what was freed", "at its peak",
                                           "at the chosen time" };
    static const char *const units[] = {
        "in pages that hold live blocks", "in pages that hold live blocks",
        "in slabs that hold live blocks",
        "in pages of 8 KiB that hold live blocks, or more: spans are larger",
        "in mimalloc's pages that hold live blocks"
    };
    const char *file = o->summary.allocator;
    const struct mpr_occupancy_bytes *s = &o->sum;
    const struct mpr_occupancy_measured *m = &o->measured;
    mpr_doc_gap(doc);
    mpr_doc_add(doc, MPR_STRONG, "host/heap");
    mpr_doc_line(doc, " %s  %s, %s", *file ? mpr_basename(file) : "malloc",
                 instant[o->options.which], mpr_doc_time(doc, o->time));
    part(doc, "live blocks", s->live, mpr_doc_counted(doc, s->blocks, "block", "blocks"));
    part(doc, "headers", s->overhead, "and rounding of block sizes");
    part(doc, "pinned", s->pinned,
         mpr_arena_format(&doc->arena, "free, %s: stays until these blocks are freed",
                          units[o->allocator]));
    if (o->allocator == MPR_MALLOC_GLIBC)
        part(doc, "free pages", s->free - m->returned,
             "between live blocks: malloc_trim(0) returns them");
    if (m->returned)
        part(doc, "returned", m->returned, "pages between live blocks, which are not resident");
    if (m->private != MPF_UNKNOWN) remainder_of(doc, o);
    if (m->active != MPF_UNKNOWN)
        mpr_doc_line(doc, "  jemalloc: allocated %s, active %s, resident %s",
                     mpr_doc_size(doc, m->allocated), mpr_doc_size(doc, m->active),
                     mpr_doc_size(doc, m->resident));
    mpr_doc_line(doc, "  live blocks are in %s of %s, and in %s of 2 MiB",
                 mpr_doc_counted(doc, o->pages, "page", "pages"), mpr_doc_size(doc, o->page_bytes),
                 mpr_doc_counted(doc, o->huge_pages, "range", "ranges"));
}

static void missing(struct mpr_document *doc, const struct mpr_occupancy *o)
{
    static const char *const why[] = {
        [MPR_OCCUPANCY_NO_BLOCKS] = "the log has no blocks of malloc",
        [MPR_OCCUPANCY_PART] =
            "the log has only a part of malloc's blocks, so it cannot show which "
            "pages are free; record with --host=all",
        [MPR_OCCUPANCY_THINNED] =
            "blocks of the thinned part of the log have no addresses, so it cannot "
            "show which pages are free",
    };
    mpr_doc_gap(doc);
    if (o->options.instead) mpr_doc_line(doc, "PyTorch's caching allocator held no device memory");
    mpr_doc_add(doc, MPR_STRONG, "host/heap");
    mpr_doc_line(doc, "  %s", why[o->gap]);
}

void mpr_report_occupancy(struct mpr_document *doc, const struct mpr_occupancy *o)
{
    static const char *const at[] = { "kept", "peak", "time" };
    mpr_report_schema(doc, "memprof.segments/1");
    mpr_report_log(doc, &o->summary);
    if (o->options.which == MPR_OCCUPANCY_AT_TIME)
        mpr_report_too_late(doc, &o->summary, o->options.at);
    mpr_doc_fact(doc, "at", mpr_value_text(at[o->options.which]));
    mpr_doc_list(doc, "devices");
    mpr_doc_close(doc);
    mpr_doc_csv(doc, pin_columns);
    if (o->gap != MPR_OCCUPANCY_KNOWN) {
        mpr_doc_fact(doc, "host", mpr_value_unknown);
        missing(doc, o);
        return;
    }
    mpr_doc_open(doc, "host");
    mpr_doc_facts(doc, fields, o);
    sums(doc, o);
    mpr_doc_rows(doc, heap_columns, o->heap, o->heaps, .key = "heaps", .title = "most free",
                 .all = MPR_IN_JSON, .omitted = "");
    mpr_doc_rows(doc, pin_columns, o->pin, o->pins, .key = "pins", .only = MPR_EVERYWHERE,
                 .title = "blocks that pin free memory", .context = o, .whole = o->sum.pinned,
                 .by = o->choice.by, .estimated = is_estimated,
                 .lines = { .merged = true,
                            .row_of = row_of_pin,
                            .compare = by_pinned,
                            .empty = true,
                            .siblings = true },
                 .folded = { "host/heap, pinning", NULL, "pinned_bytes" });
    if (o->samples)
        mpr_doc_line(doc, "  ~ estimated from %s",
                     mpr_doc_counted(doc, o->samples, "sample", "samples"));
    mpr_doc_close(doc);
}
