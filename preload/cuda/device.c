#include "cuda/device.h"

#include <string.h>

#include "base/sys.h"
#include "base/text.h"
#include "core/file_cache.h"
#include "core/loss.h"
#include "core/record.h"
#include "cuda/driver.h"
#include "cuda/nvml.h"
#include "cuda/sampler.h"
#include "mpf/gpu.h"
#include "mpf/header.h"
#include "mpf/sample.h"

enum { NOTES = 32, TEXT_BYTES = 2048 };

#define IN_ANOTHER_LOG UINT32_MAX

static struct device {
    /* 1 + mp_loss_now() from before it was recorded, or IN_ANOTHER_LOG; 0 if it was not recorded
     * yet */
    uint32_t in_log;
    uint32_t bytes; /* of its description; 0 if it is not known yet */
    char text[TEXT_BYTES];
    void *nvml; /* NULL if NVML does not know it */
} device[MPF_GPUS];

static struct {
    const char *key, *value;
} note[NOTES];
static unsigned notes;

void mp_device_note(const char *key, const char *value)
{
    if (notes == NOTES) return;
    note[notes].key = key;
    note[notes].value = value;
    notes++;
}

/* ---- description */

static void add_uuid(struct mp_text *t, const CUuuid *uuid)
{
    static const char digit[] = "0123456789abcdef";
    mp_text_str(t, "GPU");
    for (int i = 0; i < 16; i++) {
        const unsigned byte = (uint8_t)uuid->bytes[i];
        const char hex[] = { '-', digit[byte >> 4], digit[byte & 15] };
        const bool group = i == 0 || i == 4 || i == 6 || i == 8 || i == 10;
        mp_text_bytes(t, group ? hex : hex + 1, group ? 3 : 2);
    }
}

/* A part of a device (MIG) has the same form of UUID with another prefix. NVML lists a device that
 * uses host memory (GB10), but has no figures of it: NOT_SUPPORTED. */
static void *find_in_nvml(char *uuid)
{
    struct mp_nvml_memory memory;
    if (!mp_sampler_enter()) return NULL;
    void *found = mp_nvml_device(uuid);
    if (!found) {
        memcpy(uuid, "MIG", 3);
        found = mp_nvml_device(uuid);
        if (!found) memcpy(uuid, "GPU", 3);
    }
    if (found && !mp_nvml_memory(found, &memory)) found = NULL;
    mp_sampler_leave();
    return found;
}

static void add_identity(struct mpf_pairs *p, CUdevice d)
{
    char name[128], pci[32], text[64];
    CUuuid uuid;
    size_t total;
    int version, shared;
    if (MP_DRIVER_ASK(cuDeviceGetUuid_v2, &uuid, d)) {
        struct mp_text t = MP_TEXT(text);
        add_uuid(&t, &uuid);
        device[d].nvml = find_in_nvml(text);
        mpf_pairs_add(p, "uuid", text);
    }
    if (MP_DRIVER_ASK(cuDeviceGetName, name, sizeof name, d)) mpf_pairs_add(p, "name", name);
    if (MP_DRIVER_ASK(cuDeviceTotalMem_v2, &total, d)) mpf_pairs_add_u64(p, "total", total);
    if (MP_DRIVER_ASK(cuDeviceGetPCIBusId, pci, sizeof pci, d)) mpf_pairs_add(p, "pci", pci);
    if (MP_DRIVER_ASK(cuDriverGetVersion, &version))
        mpf_pairs_add_u64(p, "driver", (uint64_t)version);
    if (MP_DRIVER_ASK(cuDeviceGetAttribute, &shared, CU_DEVICE_ATTRIBUTE_INTEGRATED, d) && shared)
        mpf_pairs_add(p, "shared", "1");
    mpf_pairs_add(p, "used", device[d].nvml ? "nvml" : "cuda");
}

/* Watches device memory that is a NUMA node of the host (GH200), because the kernel also uses it.
 */
static void watch_node(CUdevice d)
{
    int config, node;
    if (MP_DRIVER_ASK(cuDeviceGetAttribute, &config, CU_DEVICE_ATTRIBUTE_NUMA_CONFIG, d) &&
        config == CU_DEVICE_NUMA_CONFIG_NUMA_NODE &&
        MP_DRIVER_ASK(cuDeviceGetAttribute, &node, CU_DEVICE_ATTRIBUTE_NUMA_ID, d) && node >= 0)
        mp_file_cache_watch((unsigned)d, (unsigned)node);
}

static bool unmeasured; /* set if NVML has no figures of a device */

static void describe(CUdevice d)
{
    struct mpf_pairs p;
    mpf_pairs_init(&p, device[d].text, TEXT_BYTES);
    add_identity(&p, d);
    for (unsigned i = 0; i < notes; i++) mpf_pairs_add(&p, note[i].key, note[i].value);
    __atomic_store_n(&device[d].bytes, (uint32_t)mpf_pairs_bytes(&p), __ATOMIC_RELEASE);
    if (!device[d].nvml) __atomic_store_n(&unmeasured, true, __ATOMIC_RELEASE);
    watch_node(d);
    mp_sampler_watch(d, device[d].nvml);
}

void mp_device_seen(CUdevice d)
{
    if (d < 0 || d >= MPF_GPUS) return;
    const uint32_t now = mp_loss_now() + 1;
    uint32_t before = __atomic_load_n(&device[d].in_log, __ATOMIC_ACQUIRE);
    if (before == now || !__atomic_compare_exchange_n(&device[d].in_log, &before, now, false,
                                                      __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return;
    if (!before) describe(d);
    const uint32_t bytes = __atomic_load_n(&device[d].bytes, __ATOMIC_ACQUIRE);
    if (bytes) mp_record_data(MPF_OP_GPU_DEVICE, MPF_HEAP_NONE, (uint64_t)d, device[d].text, bytes);
}

/* The driver gives no descriptions any more. */
void mp_device_reset(void)
{
    for (int d = 0; d < MPF_GPUS; d++) device[d].in_log = device[d].bytes ? IN_ANOTHER_LOG : 0;
}

/* Does not use MP_DRIVER_ASK: memory that the driver allocates at this thread's first call is freed
 * later as the program's, so it must be recorded. */
void mp_device_seek(void)
{
    unsigned flags;
    int active;
    for (CUdevice d = 0; d < MPF_GPUS; d++) {
        if (__atomic_load_n(&device[d].in_log, __ATOMIC_ACQUIRE)) continue;
        if (!mp_driver.cuDevicePrimaryCtxGetState ||
            mp_driver.cuDevicePrimaryCtxGetState(d, &flags, &active) != CUDA_SUCCESS)
            return;
        if (active) mp_device_seen(d);
    }
}

/* ---- what is current */

CUdevice mp_device_current(void)
{
    CUdevice d;
    if (!MP_DRIVER_ASK(cuCtxGetDevice, &d) || d < 0 || d >= MPF_GPUS) return -1;
    mp_device_seen(d);
    return d;
}

static bool is_recorded(const struct mp_call *call)
{
    return mp_self && mp_self->gpu_context == call->context_uid + 1 &&
           mp_self->in_log == mp_loss_now();
}

/* The event takes the path that repeats the thread's identity after a lost frame. */
void mp_device_context(const struct mp_call *call)
{
    if (!call->context || is_recorded(call)) return;
    mp_record_data(MPF_OP_GPU_CONTEXT, MPF_HEAP_NONE, (uintptr_t)call->context, NULL, 0);
    if (mp_self && mp_self->number) mp_self->gpu_context = call->context_uid + 1;
}

/* ---- used bytes */

void mp_device_info(uint64_t *free, uint64_t *total)
{
    size_t f, t;
    const bool known = MP_DRIVER_ASK(cuMemGetInfo_v2, &f, &t);
    *free = known ? f : MPF_UNKNOWN;
    *total = known ? t : MPF_UNKNOWN;
}

uint64_t mp_device_used(CUdevice d)
{
    if (d < 0 || d >= MPF_GPUS) return MPF_UNKNOWN;
    struct mp_nvml_memory memory;
    bool known = device[d].nvml && mp_sampler_enter();
    if (known) {
        known = mp_nvml_memory(device[d].nvml, &memory);
        mp_sampler_leave();
    }
    if (known) return memory.used;
    CUdevice current;
    uint64_t free, total;
    if (!MP_DRIVER_ASK(cuCtxGetDevice, &current) || current != d) return MPF_UNKNOWN;
    mp_device_info(&free, &total);
    return free == MPF_UNKNOWN ? MPF_UNKNOWN : total - free;
}

/* A reading costs 4 us, and the sampler's period is sufficient here. */
void mp_device_measure(void)
{
    static uint64_t due[MPF_GPUS];
    if (!__atomic_load_n(&unmeasured, __ATOMIC_ACQUIRE)) return;
    const CUdevice d = mp_device_current();
    const uint64_t now = mp_sys_clock(CLOCK_MONOTONIC);
    if (d < 0 || device[d].nvml || now < __atomic_load_n(&due[d], __ATOMIC_RELAXED)) return;
    __atomic_store_n(&due[d], now + MP_SAMPLER_PERIOD_NS, __ATOMIC_RELAXED);
    uint64_t v[MPF_GPU_COUNT] = { [MPF_GPU_RESERVED] = MPF_UNKNOWN,
                                  [MPF_GPU_OWN] = MPF_UNKNOWN,
                                  [MPF_GPU_FILE_CACHE] = MPF_UNKNOWN };
    uint64_t free;
    mp_device_info(&free, &v[MPF_GPU_TOTAL]);
    if (free == MPF_UNKNOWN) return;
    v[MPF_GPU_USED] = v[MPF_GPU_TOTAL] - free;
    mp_record_data(MPF_OP_SAMPLE_GPU, mpf_heap_gpu(MPF_HEAP_USED, (unsigned)d), (uint64_t)d, v,
                   sizeof v);
}
