#include "core/sample.h"

#include <string.h>
#include <sys/resource.h>

#include "base/text.h"
#include "core/counted.h"
#include "core/epoch.h"
#include "core/file_cache.h"
#include "core/journal.h"
#include "core/resident.h"
#include "core/state.h"
#include "core/tmpfs.h"
#include "mpf/event.h"
#include "mpf/sample.h"

#define PERIOD_NS 90000000u
/* Maximum time between two samples, even if nothing changed. */
#define UNCHANGED_NS ((uint64_t)10 * 1000000000u)

/* The kernel writes "max" for an unlimited group. */
static uint64_t number_of(const char *text)
{
    return *text < '0' || *text > '9' ? MPF_UNKNOWN : mp_text_decimal(text);
}

struct sampler {
    uint64_t next, next_rollup, next_stat, full; /* CLOCK_MONOTONIC ns of the next samples */
    uint64_t dirty, pss, anon, cache, shmem, kernel;
    uint64_t rss[MPF_RSS_COUNT], cgroup[MPF_CGROUP_COUNT], host[MPF_HOST_COUNT];
    int cgroup_version; /* 0: not determined yet, -1: no cgroup */
    char cgroup_path[512];
};
/* Forked children continue with the parent's cgroup. Everything that is then due is sampled. */
static struct sampler s;

/* Returns when a figure may be read again whose reading began at `now` and has ended. */
static uint64_t next_by_cost(uint64_t now)
{
    const uint64_t pause = (mp_sys_clock(CLOCK_MONOTONIC) - now) * MP_SAMPLE_COST_FACTOR;
    return now + (pause > PERIOD_NS ? pause : PERIOD_NS);
}

/* ---- RSS */

static void read_rollup(uint64_t now)
{
    static char text[4096];
    s.dirty = s.pss = MPF_UNKNOWN;
    if (now < s.next_rollup) return;
    if (mp_sys_slurp("/proc/thread-self/smaps_rollup", text, sizeof text) > 0) {
        s.dirty = mp_sys_kib(text, "Private_Dirty:");
        s.pss = mp_sys_kib(text, "Pss:");
    }
    s.next_rollup = next_by_cost(now);
}

/* Returns true if a value other than the time changed by a page or more. Values that were not read
 * this time keep their old ones. */
static bool changed(const uint64_t *now, uint64_t *before, unsigned count)
{
    bool news = false;
    for (unsigned i = 0; i < count; i++) {
        if (now[i] == MPF_UNKNOWN || now[i] == before[i]) continue;
        before[i] = now[i];
        news = true;
    }
    return news;
}

static uint64_t limit_of(int resource)
{
    struct rlimit limit;
    if (mp_sys6(SYS_prlimit64, 0, resource, 0, (long)&limit, 0, 0) != 0) return MPF_UNKNOWN;
    return limit.rlim_cur == RLIM_INFINITY ? MPF_UNKNOWN : limit.rlim_cur;
}

/* @last: the log ends now. */
static void sample_rss(uint64_t now, bool always, bool last)
{
    static char text[4096];
    if (mp_sys_slurp("/proc/thread-self/status", text, sizeof text) <= 0) return;
    read_rollup(now);
    const uint64_t v[MPF_RSS_COUNT] = {
        [MPF_RSS_ANON] = mp_sys_kib(text, "RssAnon:"),
        [MPF_RSS_FILE] = mp_sys_kib(text, "RssFile:"),
        [MPF_RSS_SHMEM] = mp_sys_kib(text, "RssShmem:"),
        [MPF_RSS_HWM] = mp_sys_kib(text, "VmHWM:"),
        [MPF_RSS_SWAP] = mp_sys_kib(text, "VmSwap:"),
        [MPF_RSS_PRIVATE_DIRTY] = s.dirty,
        [MPF_RSS_PSS] = s.pss,
        [MPF_RSS_MEMPROF] = mp_journal_resident() + mp_epoch_resident(),
        [MPF_RSS_VM_SIZE] = mp_sys_kib(text, "VmSize:"),
        [MPF_RSS_LIMIT_AS] = limit_of(RLIMIT_AS),
        [MPF_RSS_LIMIT_DATA] = limit_of(RLIMIT_DATA),
        [MPF_RSS_PAGE_TABLES] = mp_sys_kib(text, "VmPTE:"),
    };
    if (changed(v, s.rss, MPF_RSS_COUNT) || always)
        mp_epoch_note(MPF_OP_SAMPLE_RSS, 0, v, sizeof v);
    const uint64_t resident = v[MPF_RSS_ANON] + v[MPF_RSS_FILE] + v[MPF_RSS_SHMEM];
    if (v[MPF_RSS_ANON] != MPF_UNKNOWN) mp_resident_take(now, resident, last);
}

/* ---- cgroup */

/* Finds the folder of the path after "0::" (version 2) or ":memory:" (version 1) in
 * /proc/self/cgroup. In a container the path is the host's, and the folder is the root of the
 * mount. */
static bool cgroup_folder(const char *text, const char *key, const char *mount, const char *probe)
{
    const char *p = strstr(text, key);
    if (!p) return false;
    p += strlen(key);
    const size_t length = strcspn(p, "\n");
    for (int whole = 1; whole >= 0; whole--) {
        char file[640];
        struct mp_text t = MP_TEXT(s.cgroup_path), f = MP_TEXT(file);
        mp_text_str(&t, mount);
        if (whole && length > 1) mp_text_bytes(&t, p, length);
        mp_text_str(&f, s.cgroup_path);
        mp_text_str(&f, probe);
        const int fd = t.full || f.full ? -1 : mp_sys_open(file, O_RDONLY, 0);
        if (fd < 0) continue;
        mp_sys_close(fd);
        return true;
    }
    return false;
}

static void find_cgroup(void)
{
    static char text[4096];
    s.cgroup_version = -1;
    if (mp_sys_slurp("/proc/self/cgroup", text, sizeof text) <= 0) return;
    if (cgroup_folder(text, ":memory:", "/sys/fs/cgroup/memory", "/memory.usage_in_bytes"))
        s.cgroup_version = 1;
    else if (cgroup_folder(text, "0::", "/sys/fs/cgroup", "/memory.current")) s.cgroup_version = 2;
}

static uint64_t cgroup_value(const char *file, const char *key)
{
    char path[640], text[512];
    struct mp_text t = MP_TEXT(path);
    mp_text_str(&t, s.cgroup_path);
    mp_text_str(&t, file);
    if (t.full || mp_sys_slurp(path, text, sizeof text) <= 0) return MPF_UNKNOWN;
    const char *p = key ? strstr(text, key) : text;
    return p ? number_of(p + (key ? strlen(key) : 0)) : MPF_UNKNOWN;
}

/* Version 1 represents "no limit" by a number near 2^63. */
static uint64_t real_limit(uint64_t bytes) { return bytes > UINT64_MAX / 4 ? MPF_UNKNOWN : bytes; }

uint64_t mp_sample_cgroup_limit(void)
{
    if (!s.cgroup_version) find_cgroup();
    if (s.cgroup_version < 0) return MPF_UNKNOWN;
    const char *file = s.cgroup_version == 2 ? "/memory.max" : "/memory.limit_in_bytes";
    return real_limit(cgroup_value(file, NULL));
}

/* @key: with the line break before it and the blank after it. */
static uint64_t stat_value(const char *text, const char *key)
{
    const char *line = strstr(text, key);
    return line ? mp_text_decimal(line + strlen(key)) : MPF_UNKNOWN;
}

static uint64_t without(uint64_t sum, uint64_t part)
{
    return sum != MPF_UNKNOWN && part != MPF_UNKNOWN && part <= sum ? sum - part : sum;
}

/* Version 1 has a separate file for the kernel's memory, and may not count it.  In both versions
 * the cache includes shared memory. */
static void read_stat(uint64_t now)
{
    static char text[8192] = "\n";
    char path[640];
    struct mp_text t = MP_TEXT(path);
    const bool two = s.cgroup_version == 2;
    const uint64_t start = mp_sys_clock(CLOCK_MONOTONIC);
    s.anon = s.cache = s.shmem = s.kernel = MPF_UNKNOWN;
    if (now < s.next_stat) return;
    mp_text_str(&t, s.cgroup_path);
    mp_text_str(&t, "/memory.stat");
    if (!t.full && mp_sys_slurp(path, text + 1, sizeof text - 1) > 0) {
        s.anon = stat_value(text, two ? "\nanon " : "\ntotal_rss ");
        s.shmem = stat_value(text, two ? "\nshmem " : "\ntotal_shmem ");
        s.cache = without(stat_value(text, two ? "\nfile " : "\ntotal_cache "), s.shmem);
        s.kernel =
            two ? stat_value(text, "\nkernel ") : cgroup_value("/memory.kmem.usage_in_bytes", NULL);
    }
    s.next_stat = next_by_cost(start);
}

static void sample_cgroup(uint64_t now, bool always)
{
    const uint64_t limit = mp_sample_cgroup_limit();
    if (s.cgroup_version < 0) return;
    const bool two = s.cgroup_version == 2;
    read_stat(now);
    const uint64_t v[MPF_CGROUP_COUNT] = {
        [MPF_CGROUP_USAGE] = cgroup_value(two ? "/memory.current" : "/memory.usage_in_bytes", NULL),
        [MPF_CGROUP_LIMIT] = limit,
        [MPF_CGROUP_PEAK] = cgroup_value(two ? "/memory.peak" : "/memory.max_usage_in_bytes", NULL),
        [MPF_CGROUP_OOM_KILLS] =
            cgroup_value(two ? "/memory.events" : "/memory.oom_control", "oom_kill "),
        [MPF_CGROUP_MEMPROF] = mp_tmpfs_bytes(),
        [MPF_CGROUP_ANON] = s.anon,
        [MPF_CGROUP_CACHE] = s.cache,
        [MPF_CGROUP_SHMEM] = s.shmem,
        [MPF_CGROUP_KERNEL] = s.kernel,
    };
    if (changed(v, s.cgroup, MPF_CGROUP_COUNT) || always)
        mp_epoch_note(MPF_OP_SAMPLE_CGROUP, 0, v, sizeof v);
}

/* ---- blocks that are only counted */

static void sample_host(bool always)
{
    struct mp_totals made, freed;
    if (!mp_counted.usable) return;
    mp_counted_sum(&made, &freed);
    const uint64_t v[MPF_HOST_COUNT] = {
        [MPF_HOST_MADE_BYTES] = made.bytes,
        [MPF_HOST_MADE_BLOCKS] = made.blocks,
        [MPF_HOST_FREED_BYTES] = freed.bytes,
        [MPF_HOST_FREED_BLOCKS] = freed.blocks,
    };
    if (always || memcmp(v, s.host, sizeof v) != 0)
        mp_epoch_note(MPF_OP_SAMPLE_HOST, 0, v, sizeof v);
    memcpy(s.host, v, sizeof v);
}

void mp_sample_take(bool everything)
{
    const uint64_t now = mp_sys_clock(CLOCK_MONOTONIC);
    if (now < s.next && !everything) return;
    const bool always = everything || now >= s.full;
    s.next = now + PERIOD_NS;
    if (always) s.full = now + UNCHANGED_NS;
    sample_host(always);
    sample_rss(now, always, everything);
    sample_cgroup(now, always);
    mp_file_cache_read();
}
