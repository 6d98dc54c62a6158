#include "readings.h"

/* ---- fields */

#define VALUE(name, which)                                                                         \
    {                                                                                              \
        .key = name, .type = MPR_BYTES, MPR_FIELD(mpr_reading, value[which]),                      \
        .unless = MPR_UNKNOWN_AT_MAX                                                               \
    }
#define TIME                                                                                       \
    {                                                                                              \
        .key = "time_ns", .type = MPR_TIME, MPR_FIELD(mpr_reading, time)                           \
    }

static struct mpr_value rollup_time(const void *row, const void *context)
{
    const struct mpr_reading *r = row;
    (void)context;
    return r->value[MPF_RSS_PSS] == MPF_UNKNOWN ? mpr_value_absent
                                                : mpr_value_number(MPR_TIME, r->taken[MPF_RSS_PSS]);
}

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
    { .key = "rollup_time_ns", .get = rollup_time },
};

const struct mpr_column mpr_reading_cgroup[] = {
    TIME,
    VALUE("usage_bytes", MPF_CGROUP_USAGE),
    VALUE("limit_bytes", MPF_CGROUP_LIMIT),
    VALUE("peak_bytes", MPF_CGROUP_PEAK),
    VALUE("oom_kills", MPF_CGROUP_OOM_KILLS),
    { .key = "memprof_files_bytes",
      .type = MPR_BYTES,
      MPR_FIELD(mpr_reading, value[MPF_CGROUP_MEMPROF]),
      .unless = MPR_ABSENT_AT_MAX },
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

void mpr_report_reading(struct mpr_document *doc, const char *key, enum mpr_reading_source source,
                        const struct mpr_reading *r)
{
    if (!r->valid) return;
    mpr_doc_open(doc, key);
    if (source == MPR_READ_RSS) mpr_doc_facts(doc, mpr_reading_rss, r);
    else if (source == MPR_READ_CGROUP) mpr_doc_facts(doc, mpr_reading_cgroup, r);
    else mpr_doc_facts(doc, mpr_reading_jemalloc, r);
    mpr_doc_close(doc);
}

void mpr_report_readings(struct mpr_document *doc, const char *key,
                         const struct mpr_reading list[MPR_READ_SOURCES])
{
    mpr_doc_open(doc, key);
    mpr_report_reading(doc, "rss", MPR_READ_RSS, &list[MPR_READ_RSS]);
    mpr_report_reading(doc, "cgroup", MPR_READ_CGROUP, &list[MPR_READ_CGROUP]);
    mpr_report_reading(doc, "jemalloc", MPR_READ_JEMALLOC, &list[MPR_READ_JEMALLOC]);
    mpr_doc_close(doc);
}

/* ---- words */

static uint64_t add_known(uint64_t sum, uint64_t value)
{
    if (value == MPF_UNKNOWN) return sum;
    return sum == MPF_UNKNOWN ? value : sum + value;
}

uint64_t mpr_reading_resident(const struct mpr_reading *rss)
{
    uint64_t sum = MPF_UNKNOWN;
    for (int i = MPF_RSS_ANON; rss->valid && i <= MPF_RSS_SHMEM; i++)
        sum = add_known(sum, rss->value[i]);
    return sum;
}

void mpr_report_rollup_time(struct mpr_document *doc, const struct mpr_reading *rss)
{
    const uint64_t taken = rss->taken[MPF_RSS_PSS];
    if (rss->value[MPF_RSS_PSS] != MPF_UNKNOWN && taken != rss->time)
        mpr_doc_say(doc, " (at %s)", mpr_doc_time(doc, taken));
}
