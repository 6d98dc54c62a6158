#include "core/file_cache.h"

#include "base/sys.h"
#include "base/text.h"
#include "mpf/event.h"
#include "mpf/sample.h"

static struct {
    uint32_t node;  /* + 1; 0 without a node */
    uint64_t bytes; /* + 1; 0 before the first reading */
} device[MPF_GPUS];

/* MPF_UNKNOWN is the largest number, so bytes + 1 cannot be confused with it. */
uint64_t mp_file_cache(unsigned index)
{
    return __atomic_load_n(&device[index].bytes, __ATOMIC_RELAXED) - 1;
}

/* FilePages includes shared memory, which belongs to no file. */
uint64_t mp_file_cache_in(const char *meminfo)
{
    const uint64_t pages = mp_sys_kib(meminfo, "FilePages:"),
                   shared = mp_sys_kib(meminfo, "Shmem:");
    if (pages == UINT64_MAX || shared == UINT64_MAX) return MPF_UNKNOWN;
    return pages > shared ? pages - shared : 0;
}

static uint64_t read_node(uint32_t node)
{
    char path[64], meminfo[2048]; /* Shmem is within the first 1 KiB */
    struct mp_text t = MP_TEXT(path);
    mp_text_str(&t, "/sys/devices/system/node/node");
    mp_text_u64(&t, node);
    mp_text_str(&t, "/meminfo");
    if (mp_sys_slurp(path, meminfo, sizeof meminfo) <= 0) return MPF_UNKNOWN;
    return mp_file_cache_in(meminfo);
}

static void read_device(unsigned index)
{
    const uint32_t node = __atomic_load_n(&device[index].node, __ATOMIC_ACQUIRE);
    if (node) __atomic_store_n(&device[index].bytes, read_node(node - 1) + 1, __ATOMIC_RELAXED);
}

/* A descriptor may be opened and closed here, because the driver also opens many when a device is
 * first used. */
void mp_file_cache_watch(unsigned index, unsigned node)
{
    if (index >= MPF_GPUS) return;
    __atomic_store_n(&device[index].node, node + 1, __ATOMIC_RELEASE);
    read_device(index);
}

void mp_file_cache_read(void)
{
    for (unsigned i = 0; i < MPF_GPUS; i++) read_device(i);
}
