#include "readings.h"

#include <inttypes.h>

#include "report_rows.h"

/* ---- fields */

#define VALUE_UNLESS(name, which, rule)                                                            \
    {                                                                                              \
        .key = name, .type = MPR_BYTES, MPR_FIELD(mpr_reading, value[which]), .unless = rule       \
    }
#define VALUE(name, which) VALUE_UNLESS(name, which, MPR_UNKNOWN_AT_MAX)
/* Absent in logs of older versions. */
#define NEWER(name, which) VALUE_UNLESS(name, which, MPR_ABSENT_AT_MAX)
#define TIME                                                                                       \
    {                                                                                              \
        .key = "time_ns", .type = MPR_TIME, MPR_FIELD(mpr_reading, time)                           \
    }

MPR_VALUE(rollup_time, mpr_reading, r,
          r->value[MPF_RSS_PSS] == MPF_UNKNOWN ? mpr_value_absent
                                               : mpr_value_number(MPR_TIME, r->taken[MPF_RSS_PSS]))

const struct mpr_column mpr_reading_rss[] = {
    TIME,
    VALUE("anon_bytes", MPF_RSS_ANON),
    VALUE("file_bytes", MPF_RSS_FILE),
    VALUE("shmem_bytes", MPF_RSS_SHMEM),
    VALUE("high_water_bytes", MPF_RSS_HWM),
    VALUE("swap_bytes", MPF_RSS_SWAP),
    VALUE("private_dirty_bytes", MPF_RSS_PRIVATE_DIRTY),
    VALUE("pss_bytes", MPF_RSS_PSS),
    VALUE("memprof_bytes", MPF_RSS_MEMPROF),
    VALUE("address_space_bytes", MPF_RSS_VM_SIZE),
    VALUE("limit_as_bytes", MPF_RSS_LIMIT_AS),
    VALUE("limit_data_bytes", MPF_RSS_LIMIT_DATA),
    NEWER("page_table_bytes", MPF_RSS_PAGE_TABLES),
    { .key = "rollup_time_ns", .get = rollup_time },
};

const struct mpr_column mpr_reading_cgroup[] = {
    TIME,
    VALUE("usage_bytes", MPF_CGROUP_USAGE),
    VALUE("limit_bytes", MPF_CGROUP_LIMIT),
    VALUE("peak_bytes", MPF_CGROUP_PEAK),
    VALUE("oom_kills", MPF_CGROUP_OOM_KILLS),
    NEWER("memprof_files_bytes", MPF_CGROUP_MEMPROF),
    NEWER("anon_bytes", MPF_CGROUP_ANON),
    NEWER("cache_bytes", MPF_CGROUP_CACHE),
    NEWER("shmem_bytes", MPF_CGROUP_SHMEM),
    NEWER("kernel_bytes", MPF_CGROUP_KERNEL),
};

const struct mpr_column mpr_reading_jemalloc[] = {
    TIME,
    VALUE("allocated_bytes", MPF_JEMALLOC_ALLOCATED),
    VALUE("active_bytes", MPF_JEMALLOC_ACTIVE),
    VALUE("metadata_bytes", MPF_JEMALLOC_METADATA),
    VALUE("resident_bytes", MPF_JEMALLOC_RESIDENT),
    VALUE("mapped_bytes", MPF_JEMALLOC_MAPPED),
    VALUE("retained_bytes", MPF_JEMALLOC_RETAINED),
};

const struct mpr_column mpr_reading_allocator[] = {
    TIME,
    VALUE("in_use_bytes", MPF_ALLOCATOR_IN_USE),
    VALUE("held_bytes", MPF_ALLOCATOR_HELD),
};

void mpr_report_reading(struct mpr_document *doc, const char *key, enum mpr_reading_source source,
                        const struct mpr_reading *r)
{
    if (!r->valid) return;
    mpr_doc_open(doc, key);
    if (source == MPR_READ_RSS) mpr_doc_facts(doc, mpr_reading_rss, r);
    else if (source == MPR_READ_CGROUP) mpr_doc_facts(doc, mpr_reading_cgroup, r);
    else if (source == MPR_READ_JEMALLOC) mpr_doc_facts(doc, mpr_reading_jemalloc, r);
    else mpr_doc_facts(doc, mpr_reading_allocator, r);
    mpr_doc_close(doc);
}

void mpr_report_readings(struct mpr_document *doc, const char *key,
                         const struct mpr_reading list[MPR_READ_SOURCES])
{
    mpr_doc_open(doc, key);
    mpr_report_reading(doc, "rss", MPR_READ_RSS, &list[MPR_READ_RSS]);
    mpr_report_reading(doc, "cgroup", MPR_READ_CGROUP, &list[MPR_READ_CGROUP]);
    mpr_report_reading(doc, "jemalloc", MPR_READ_JEMALLOC, &list[MPR_READ_JEMALLOC]);
    mpr_report_reading(doc, "allocator", MPR_READ_ALLOCATOR, &list[MPR_READ_ALLOCATOR]);
    mpr_doc_close(doc);
}

/* ---- the maximum */

#define OF_PEAK(name, type_, member)                                                               \
    {                                                                                              \
        .key = name, .type = type_, MPR_FIELD(mpr_reading_peak, member),                           \
        .unless = MPR_ABSENT_AT_MAX                                                                \
    }

static const struct mpr_column peak_fields[] = {
    OF_PEAK("bytes", MPR_BYTES, bytes),       OF_PEAK("from_ns", MPR_TIME, from),
    OF_PEAK("to_ns", MPR_TIME, to),           OF_PEAK("before_bytes", MPR_BYTES, before),
    OF_PEAK("after_bytes", MPR_BYTES, after),
};

void mpr_report_reading_peak(struct mpr_document *doc, const char *key,
                             const struct mpr_reading_peak *peak)
{
    if (peak->bytes != MPF_UNKNOWN) mpr_doc_object(doc, key, peak_fields, peak);
}

const char *mpr_reading_outside(const struct mpr_reading *cgroup, uint64_t bytes, uint64_t *kind)
{
    static const struct {
        int value;
        const char *name;
    } kinds[] = { { MPF_CGROUP_SHMEM, "files on tmpfs or shared memory" },
                  { MPF_CGROUP_KERNEL, "memory of the kernel" } };
    for (size_t i = 0; cgroup->valid && i < sizeof kinds / sizeof *kinds; i++) {
        *kind = cgroup->value[kinds[i].value];
        if (*kind != MPF_UNKNOWN && *kind >= bytes / 2) return kinds[i].name;
    }
    return NULL;
}

static const char *time_and_bytes(struct mpr_document *doc, uint64_t time, uint64_t bytes)
{
    if (bytes == MPF_UNKNOWN) return mpr_doc_time(doc, time);
    return mpr_arena_format(&doc->arena, "%s (%s)", mpr_doc_time(doc, time),
                            mpr_doc_size(doc, bytes));
}

const char *mpr_report_reached(struct mpr_document *doc, const struct mpr_reading_peak *p)
{
    const char *after = time_and_bytes(doc, p->to, p->after);
    if (p->from == p->to) return mpr_arena_format(&doc->arena, "at %s", mpr_doc_time(doc, p->to));
    if (!p->from) return mpr_arena_format(&doc->arena, "before %s", after);
    return mpr_arena_format(&doc->arena, "between %s and %s",
                            time_and_bytes(doc, p->from, p->before), after);
}

bool mpr_report_rss_peak(struct mpr_document *doc, const struct mpr_log_peaks *log)
{
    const struct mpr_reading_peak *rss = &log->rss_peak, *cgroup = &log->cgroup_peak;
    const uint64_t limit = log->largest[MPR_READ_CGROUP].value[MPF_CGROUP_LIMIT],
                   huge = log->resident.value[MPF_RESIDENT_HUGE];
    if (rss->bytes == MPF_UNKNOWN) return false;
    mpr_doc_add_plain(doc, "RSS peak: ");
    mpr_doc_add(doc, MPR_STRONG, "%s", mpr_doc_size(doc, rss->bytes));
    mpr_doc_add_plain(doc, " %s", mpr_report_reached(doc, rss));
    if (log->resident.valid && huge >= log->resident.sum / 4 && huge)
        mpr_doc_add_plain(doc, ", %s in huge pages", mpr_doc_size(doc, huge));
    if (cgroup->bytes == MPF_UNKNOWN || limit == MPF_UNKNOWN) return true;
    mpr_doc_add_plain(doc, "; its cgroup: %s of a limit of %s, %s",
                      mpr_doc_size(doc, cgroup->bytes), mpr_doc_size(doc, limit),
                      mpr_report_reached(doc, cgroup));
    if (cgroup->bytes < limit / 10 * 9 || rss->bytes >= cgroup->bytes / 4 * 3) return true;
    const uint64_t outside = cgroup->bytes - rss->bytes;
    uint64_t bytes;
    const char *kind = mpr_reading_outside(&log->largest[MPR_READ_CGROUP], outside, &bytes);
    mpr_doc_add_plain(doc, ", at least %s of it outside of this process",
                      mpr_doc_size(doc, outside));
    if (kind) mpr_doc_add_plain(doc, " (%s, up to %s)", kind, mpr_doc_size(doc, bytes));
    return true;
}

/* ---- by kind of mapping */

#define OF_RESIDENT(name, member)                                                                  \
    {                                                                                              \
        .key = name, .type = MPR_BYTES, MPR_FIELD(mpr_resident, member)                            \
    }

#define LARGEST(name, kind)                                                                        \
    MPR_VALUE(name, mpr_resident, r,                                                               \
              r->file[kind].bytes ? mpr_value_text(r->file[kind].path) : mpr_value_absent)
LARGEST(largest_data, MPF_RESIDENT_DATA)
LARGEST(largest_file, MPF_RESIDENT_FILES)
LARGEST(largest_shared, MPF_RESIDENT_SHMEM)

// clang-format off
static const struct mpr_column resident_fields[] = {
    { .key = "time_ns", .type = MPR_TIME, MPR_FIELD(mpr_resident, time) },
    OF_RESIDENT("resident_bytes", sum),
    OF_RESIDENT("brk_bytes", value[MPF_RESIDENT_BRK]),
    OF_RESIDENT("anonymous_bytes", value[MPF_RESIDENT_ANON]),
    OF_RESIDENT("stack_bytes", value[MPF_RESIDENT_STACKS]),
    { .key = "stacks", .type = MPR_COUNT, MPR_FIELD(mpr_resident, value[MPF_RESIDENT_STACK_COUNT]) },
    OF_RESIDENT("data_bytes", value[MPF_RESIDENT_DATA]),
    OF_RESIDENT("code_bytes", value[MPF_RESIDENT_CODE]),
    OF_RESIDENT("file_bytes", value[MPF_RESIDENT_FILES]),
    OF_RESIDENT("shared_bytes", value[MPF_RESIDENT_SHMEM]),
    OF_RESIDENT("memprof_bytes", value[MPF_RESIDENT_MEMPROF]),
    OF_RESIDENT("huge_page_bytes", value[MPF_RESIDENT_HUGE]),
    { .key = "page_table_bytes", .type = MPR_BYTES, MPR_FIELD(mpr_resident, page_tables), .unless = MPR_UNKNOWN_AT_MAX },
    OF_RESIDENT("live_block_bytes", live_blocks),
    OF_RESIDENT("live_mapping_bytes", live_mappings),
    { .key = "largest_data", .get = largest_data },
    { .key = "largest_file", .get = largest_file },
    { .key = "largest_shared", .get = largest_shared },
};
// clang-format on

/* Adds a line "  label   12.0 MiB   3.1 %  note" if the bytes are at least 1 % of the sum. */
static void resident_line(struct mpr_document *doc, const struct mpr_resident *r, const char *label,
                          uint64_t bytes, const char *note)
{
    if (bytes < r->sum / 100 || !bytes) return;
    mpr_doc_line(doc, "  %-28s %12s  %5.1f %%%s%s", label, mpr_doc_size(doc, bytes),
                 100.0 * (double)bytes / (double)r->sum, *note ? "  " : "", note);
}

static const char *largest(struct mpr_document *doc, const struct mpr_resident *r, int kind)
{
    const struct mpr_resident_file *f = &r->file[kind];
    if (!f->bytes) return "";
    return mpr_arena_format(&doc->arena, "%s in %s", mpr_doc_size(doc, f->bytes), f->path);
}

/* @peak: of RSS, or MPF_UNKNOWN. */
static void resident_lines(struct mpr_document *doc, const struct mpr_resident *r, uint64_t peak)
{
    const uint64_t *v = r->value;
    const char *live =
        mpr_arena_format(&doc->arena, "live blocks %s, mappings %s (requested)",
                         mpr_doc_size(doc, r->live_blocks), mpr_doc_size(doc, r->live_mappings));
    mpr_doc_gap(doc);
    mpr_doc_add_plain(doc, "resident memory by kind, ");
    mpr_doc_add(doc, MPR_STRONG, "%s", mpr_doc_size(doc, r->sum));
    mpr_doc_add_plain(doc, " at %s", mpr_doc_time(doc, r->time));
    if (peak != MPF_UNKNOWN && r->sum < peak / 10 * 9)
        mpr_doc_add_plain(doc, ", not at the peak of %s", mpr_doc_size(doc, peak));
    mpr_doc_end(doc);
    resident_line(doc, r, "malloc and private mappings", v[MPF_RESIDENT_BRK] + v[MPF_RESIDENT_ANON],
                  live);
    resident_line(
        doc, r,
        mpr_arena_format(&doc->arena, "thread stacks (%" PRIu64 ")", v[MPF_RESIDENT_STACK_COUNT]),
        v[MPF_RESIDENT_STACKS], "");
    resident_line(doc, r, "data of program, libraries", v[MPF_RESIDENT_DATA],
                  largest(doc, r, MPF_RESIDENT_DATA));
    resident_line(doc, r, "code of program, libraries", v[MPF_RESIDENT_CODE], "");
    resident_line(doc, r, "mapped files", v[MPF_RESIDENT_FILES],
                  largest(doc, r, MPF_RESIDENT_FILES));
    resident_line(doc, r, "shared memory", v[MPF_RESIDENT_SHMEM],
                  largest(doc, r, MPF_RESIDENT_SHMEM));
    resident_line(doc, r, "memprof", v[MPF_RESIDENT_MEMPROF], "");
    if (r->page_tables != MPF_UNKNOWN)
        resident_line(doc, r, "page tables", r->page_tables, "not in RSS");
    resident_line(doc, r, "in huge pages", v[MPF_RESIDENT_HUGE], "part of the above");
}

/* ---- resident bytes of large blocks and mappings */

#define OF_OWNER(member) MPR_FIELD(mpr_resident_owner, member)

static const struct mpr_column owner_columns[] = {
    { .key = "path", .title = "path", MPR_PATH_FIELD(mpr_resident_owner, path) },
    { .key = "resident_bytes", .title = "resident", .type = MPR_BYTES, OF_OWNER(resident) },
    { .key = "bytes", .title = "of", .type = MPR_BYTES, OF_OWNER(bytes) },
    { .key = "huge_page_bytes", .title = "huge pages", .type = MPR_BYTES, OF_OWNER(huge) },
};

static void resident_owners(struct mpr_document *doc, const struct mpr_log_peaks *log, bool lines)
{
    enum { OWNERS = 4, COLUMNS = sizeof owner_columns / sizeof *owner_columns };
    uint64_t huge = 0;
    struct mpr_table table = { .key = "resident_owners",
                               .title = mpr_report_heading(doc, "large blocks and mappings",
                                                           log->choice.by),
                               .only = MPR_IN_JSON,
                               .column = owner_columns,
                               .columns = COLUMNS,
                               MPR_ROWS(log->owner, log->owners),
                               .all = MPR_IN_JSON,
                               .top = OWNERS,
                               .omitted = "",
                               .by = log->choice.by };
    if (!log->owners) return;
    mpr_doc_table(doc, &table);
    for (size_t i = 0; i < log->owners; i++) huge += log->owner[i].huge;
    table.only = MPR_FOR_PEOPLE;
    table.columns = huge ? COLUMNS : COLUMNS - 1;
    if (lines) mpr_doc_table(doc, &table);
}

void mpr_report_resident(struct mpr_document *doc, const struct mpr_log_peaks *log, bool lines)
{
    const struct mpr_resident *r = &log->resident;
    if (!r->valid) return;
    mpr_doc_object(doc, "resident", resident_fields, r);
    if (lines) resident_lines(doc, r, log->rss_peak.bytes);
    resident_owners(doc, log, lines);
}

/* ---- for people */

uint64_t mpr_reading_resident_bytes(const struct mpr_reading *rss)
{
    uint64_t sum = MPF_UNKNOWN;
    for (int i = MPF_RSS_ANON; rss->valid && i <= MPF_RSS_SHMEM; i++)
        if (rss->value[i] != MPF_UNKNOWN)
            sum = sum == MPF_UNKNOWN ? rss->value[i] : sum + rss->value[i];
    return sum;
}

void mpr_report_smaps_time(struct mpr_document *doc, const struct mpr_reading *rss)
{
    const uint64_t taken = rss->taken[MPF_RSS_PSS];
    if (rss->value[MPF_RSS_PSS] != MPF_UNKNOWN && taken != rss->time)
        mpr_doc_add_plain(doc, " (at %s)", mpr_doc_time(doc, taken));
}

static void part(struct mpr_document *doc, const char *label, uint64_t value)
{
    if (value != MPF_UNKNOWN && value)
        mpr_doc_add_plain(doc, "  %s %s", label, mpr_doc_size(doc, value));
}

static void rss_lines(struct mpr_document *doc, const struct mpr_reading *r)
{
    mpr_doc_add_plain(doc, "  RSS     %12s at %s ",
                      mpr_doc_size(doc, mpr_reading_resident_bytes(r)), mpr_doc_time(doc, r->time));
    part(doc, "anonymous", r->value[MPF_RSS_ANON]);
    part(doc, "file", r->value[MPF_RSS_FILE]);
    part(doc, "shared", r->value[MPF_RSS_SHMEM]);
    part(doc, "swap", r->value[MPF_RSS_SWAP]);
    mpr_doc_end(doc);
    mpr_doc_add_plain(doc, "%20s", "");
    part(doc, "Private_Dirty", r->value[MPF_RSS_PRIVATE_DIRTY]);
    part(doc, "Pss", r->value[MPF_RSS_PSS]);
    mpr_report_smaps_time(doc, r);
    part(doc, "memprof itself up to", r->value[MPF_RSS_MEMPROF]);
    part(doc, "high water so far", r->value[MPF_RSS_HWM]);
    mpr_doc_end(doc);
}

static void cgroup_line(struct mpr_document *doc, const struct mpr_reading *r)
{
    const uint64_t kills = r->value[MPF_CGROUP_OOM_KILLS];
    mpr_doc_add_plain(doc, "  cgroup  %12s at %s ", mpr_doc_size(doc, r->value[MPF_CGROUP_USAGE]),
                      mpr_doc_time(doc, r->time));
    part(doc, "limit", r->value[MPF_CGROUP_LIMIT]);
    part(doc, "peak", r->value[MPF_CGROUP_PEAK]);
    part(doc, "tmpfs and shared", r->value[MPF_CGROUP_SHMEM]);
    part(doc, "kernel", r->value[MPF_CGROUP_KERNEL]);
    if (kills != MPF_UNKNOWN && kills) mpr_doc_add_plain(doc, "  OOM kills %" PRIu64, kills);
    mpr_doc_end(doc);
}

static void jemalloc_line(struct mpr_document *doc, const struct mpr_reading *r)
{
    mpr_doc_add_plain(doc, "  jemalloc%12s allocated ",
                      mpr_doc_size(doc, r->value[MPF_JEMALLOC_ALLOCATED]));
    part(doc, "active", r->value[MPF_JEMALLOC_ACTIVE]);
    part(doc, "resident", r->value[MPF_JEMALLOC_RESIDENT]);
    part(doc, "retained", r->value[MPF_JEMALLOC_RETAINED]);
    mpr_doc_end(doc);
}

/* The bytes in use are also those of blocks that memprof did not record. */
static void allocator_line(struct mpr_document *doc, const struct mpr_reading *r)
{
    const uint64_t in_use = r->value[MPF_ALLOCATOR_IN_USE], held = r->value[MPF_ALLOCATOR_HELD];
    if (in_use == MPF_UNKNOWN && held == MPF_UNKNOWN) return;
    mpr_doc_add_plain(doc, "  allocator%11s %s by its own figures at %s ",
                      mpr_doc_size(doc, in_use != MPF_UNKNOWN ? in_use : held),
                      in_use != MPF_UNKNOWN ? "in use" : "committed", mpr_doc_time(doc, r->time));
    if (in_use != MPF_UNKNOWN) part(doc, "from the system", held);
    mpr_doc_end(doc);
}

/* Adds the samples before and after the peak, with their times, if none is near it. */
static void nearest_samples(struct mpr_document *doc, const struct mpr_heap_peak *h)
{
    const struct mpr_reading *before = &h->before[MPR_READ_RSS], *after = &h->after[MPR_READ_RSS];
    if (!before->valid && !after->valid) return;
    mpr_doc_gap(doc);
    mpr_doc_add(doc, MPR_FAINT, "no sample of RSS within 100 ms of the peak; nearest samples:");
    mpr_doc_end(doc);
    if (before->valid) rss_lines(doc, before);
    if (after->valid) rss_lines(doc, after);
}

void mpr_report_kernel_view(struct mpr_document *doc, const struct mpr_heap_peak *h, bool at_peak)
{
    const struct mpr_reading *rss = &h->then[MPR_READ_RSS], *cgroup = &h->then[MPR_READ_CGROUP];
    const struct mpr_reading *jemalloc = &h->then[MPR_READ_JEMALLOC],
                             *allocator = &h->then[MPR_READ_ALLOCATOR];
    if (!rss->valid) nearest_samples(doc, h);
    if (!rss->valid && !cgroup->valid && !jemalloc->valid && !allocator->valid) return;
    mpr_doc_gap(doc);
    mpr_doc_add(doc, MPR_FAINT, at_peak ? "samples at the peak of %s" : "samples at that time",
                mpr_heap_name(h->heap));
    mpr_doc_end(doc);
    if (rss->valid) rss_lines(doc, rss);
    if (cgroup->valid) cgroup_line(doc, cgroup);
    if (jemalloc->valid) jemalloc_line(doc, jemalloc);
    if (allocator->valid) allocator_line(doc, allocator);
}
