#include "readings.h"

const struct mpr_reading_names mpr_reading_names[MPR_READ_SOURCES] = {
    [MPR_READ_RSS] = { "rss", {
        [MPF_RSS_ANON] = "anon_bytes", [MPF_RSS_FILE] = "file_bytes", [MPF_RSS_SHMEM] = "shmem_bytes",
        [MPF_RSS_HWM] = "high_water_bytes", [MPF_RSS_SWAP] = "swap_bytes",
            [MPF_RSS_PRIVATE_DIRTY] = "private_dirty_bytes",
        [MPF_RSS_PSS] = "pss_bytes", [MPF_RSS_MEMPROF] = "memprof_bytes", [MPF_RSS_VM_SIZE] = "address_space_bytes",
        [MPF_RSS_LIMIT_AS] = "limit_as_bytes", [MPF_RSS_LIMIT_DATA] = "limit_data_bytes" } },
    [MPR_READ_CGROUP] = { "cgroup", {
        [MPF_CGROUP_USAGE] = "usage_bytes", [MPF_CGROUP_LIMIT] = "limit_bytes", [MPF_CGROUP_PEAK] = "peak_bytes",
        [MPF_CGROUP_OOM_KILLS] = "oom_kills" } },
    [MPR_READ_JEMALLOC] = { "jemalloc", {
        [MPF_JEMALLOC_ALLOCATED] = "allocated_bytes", [MPF_JEMALLOC_ACTIVE] = "active_bytes",
        [MPF_JEMALLOC_METADATA] = "metadata_bytes", [MPF_JEMALLOC_RESIDENT] = "resident_bytes",
        [MPF_JEMALLOC_MAPPED] = "mapped_bytes", [MPF_JEMALLOC_RETAINED] = "retained_bytes" } },
};

static uint64_t add_known(uint64_t sum, uint64_t value)
{
    if (value == MPF_UNKNOWN) return sum;
    return sum == MPF_UNKNOWN ? value : sum + value;
}

uint64_t mpr_reading_resident(const struct mpr_reading *rss)
{
    uint64_t sum = MPF_UNKNOWN;
    for (int i = MPF_RSS_ANON; rss->valid && i <= MPF_RSS_SHMEM; i++) sum = add_known(sum, rss->value[i]);
    return sum;
}
