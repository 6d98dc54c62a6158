#include "readings.h"

const struct mpr_reading_names mpr_reading_names[MPR_READ_SOURCES] = {
    [MPR_READ_RSS] = { "rss", {
        [MPF_RSS_ANON] = "anon_bytes", [MPF_RSS_FILE] = "file_bytes", [MPF_RSS_SHMEM] = "shmem_bytes",
        [MPF_RSS_HWM] = "high_water_bytes", [MPF_RSS_SWAP] = "swap_bytes",
            [MPF_RSS_PRIVATE_DIRTY] = "private_dirty_bytes",
        [MPF_RSS_PSS] = "pss_bytes", [MPF_RSS_MEMPROF] = "memprof_bytes" } },
    [MPR_READ_CGROUP] = { "cgroup", {
        [MPF_CGROUP_USAGE] = "usage_bytes", [MPF_CGROUP_LIMIT] = "limit_bytes", [MPF_CGROUP_PEAK] = "peak_bytes",
        [MPF_CGROUP_OOM_KILLS] = "oom_kills" } },
    [MPR_READ_JEMALLOC] = { "jemalloc", {
        [MPF_JEMALLOC_ALLOCATED] = "allocated_bytes", [MPF_JEMALLOC_ACTIVE] = "active_bytes",
        [MPF_JEMALLOC_METADATA] = "metadata_bytes", [MPF_JEMALLOC_RESIDENT] = "resident_bytes",
        [MPF_JEMALLOC_MAPPED] = "mapped_bytes", [MPF_JEMALLOC_RETAINED] = "retained_bytes" } },
};
