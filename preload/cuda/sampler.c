#include "cuda/sampler.h"

#include <stdlib.h>
#include <string.h>

#include "base/sys.h"
#include "core/file_cache.h"
#include "core/own_thread.h"
#include "core/process.h"
#include "core/record.h"
#include "core/say.h"
#include "cuda/device.h"
#include "cuda/driver.h"
#include "cuda/local_memory.h"
#include "cuda/nvml.h"
#include "mpf/gpu.h"
#include "mpf/sample.h"

/* Maximum time between two samples, even if nothing changed. */
#define UNCHANGED_NS ((uint64_t)10 * 1000000000u)

static struct {
    /* ready: NVML may be called. stopped: never again. inside: number of callers in it now
     * (futex). */
    uint32_t ready, stopped, inside;
    uint32_t seek; /* set to look for devices in use */
    void *device[MPF_GPUS];
    uint64_t last[MPF_GPUS][MPF_GPU_COUNT], due[MPF_GPUS];
} s;

bool mp_sampler_enter(void)
{
    if (!__atomic_load_n(&s.ready, __ATOMIC_ACQUIRE)) return false;
    __atomic_fetch_add(&s.inside, 1, __ATOMIC_SEQ_CST);
    if (!__atomic_load_n(&s.stopped, __ATOMIC_SEQ_CST)) return true;
    mp_sampler_leave();
    return false;
}

void mp_sampler_leave(void)
{
    if (__atomic_sub_fetch(&s.inside, 1, __ATOMIC_SEQ_CST) == 0) mp_sys_futex_wake(&s.inside);
}

/* A thread that was in NVML at the fork does not exist here, so this does not wait for it. */
void mp_sampler_reset(void) { memset(&s, 0, sizeof s); }

void mp_sampler_seek(void) { __atomic_store_n(&s.seek, 1, __ATOMIC_RELEASE); }

void mp_sampler_watch(int device, void *nvml)
{
    __atomic_store_n(&s.device[device], nvml, __ATOMIC_RELEASE);
}

/* Querying this process's own bytes costs seven times as much as the rest. It is done only if the
 * used bytes differ from those in @last, or if @last is NULL. */
static bool read_device(int d, void *device, const uint64_t *last, uint64_t *v)
{
    struct mp_nvml_memory memory;
    uint64_t own_bytes;
    if (!mp_nvml_memory(device, &memory)) return false;
    if (last && memory.used == last[MPF_GPU_USED]) v[MPF_GPU_OWN] = last[MPF_GPU_OWN];
    else v[MPF_GPU_OWN] = mp_nvml_own(device, &own_bytes) ? own_bytes : MPF_UNKNOWN;
    v[MPF_GPU_USED] = memory.used;
    v[MPF_GPU_TOTAL] = memory.used + memory.free;
    v[MPF_GPU_RESERVED] = memory.reserved;
    v[MPF_GPU_FILE_CACHE] = mp_file_cache((unsigned)d);
    return true;
}

static void record(int d, const uint64_t *v)
{
    mp_device_seen(d);
    mp_record_data(MPF_OP_SAMPLE_GPU, mpf_heap_gpu(MPF_HEAP_USED, (unsigned)d), (uint64_t)d, v,
                   MPF_GPU_COUNT * sizeof *v);
}

/* Takes one sample of a device. */
static void sample(int d, uint64_t now)
{
    void *device = __atomic_load_n(&s.device[d], __ATOMIC_ACQUIRE);
    uint64_t v[MPF_GPU_COUNT];
    if (!device || !mp_sampler_enter()) return;
    const bool known = read_device(d, device, s.last[d], v);
    mp_sampler_leave();
    if (!known || (memcmp(v, s.last[d], sizeof v) == 0 && now < s.due[d])) return;
    memcpy(s.last[d], v, sizeof v);
    s.due[d] = now + UNCHANGED_NS;
    record(d, v);
}

static void sample_always(int d)
{
    void *device = __atomic_load_n(&s.device[d], __ATOMIC_ACQUIRE);
    uint64_t v[MPF_GPU_COUNT];
    if (device && read_device(d, device, NULL, v)) record(d, v);
}

void mp_sampler_now(int device)
{
    if (!mp_sampler_enter()) return;
    sample_always(device);
    mp_sampler_leave();
}

/* Called when the process is about to end: takes the last samples, then waits until no thread is in
 * NVML, at most a second. */
static void stop(void)
{
    CUcontext context;
    if (!__atomic_load_n(&s.ready, __ATOMIC_ACQUIRE)) return; /* in a forked child */
    if (MP_DRIVER_ASK(cuCtxGetCurrent, &context)) mp_local_memory_look(context);
    for (int d = 0; d < MPF_GPUS; d++) mp_sampler_now(d);
    __atomic_store_n(&s.stopped, 1, __ATOMIC_SEQ_CST);
    struct mp_patience patience = mp_patience(1000000000u);
    uint32_t inside;
    while ((inside = __atomic_load_n(&s.inside, __ATOMIC_SEQ_CST)) &&
           mp_wait(&patience, &s.inside, inside, 10000000u)) {}
}

static void seek_devices(void)
{
    if (!__atomic_load_n(&s.seek, __ATOMIC_ACQUIRE) || !mp_sampler_enter()) return;
    mp_device_seek();
    mp_sampler_leave();
}

static void *run(void *arg)
{
    (void)arg;
    static uint32_t never;
    mp_sys_begin_thread("memprof-gpu");
    while (!__atomic_load_n(&s.stopped, __ATOMIC_ACQUIRE)) {
        const uint64_t now = mp_sys_clock(CLOCK_MONOTONIC);
        seek_devices();
        for (int d = 0; d < MPF_GPUS; d++) sample(d, now);
        if (!mp_sys_futex_wait(&never, 0, MP_SAMPLER_PERIOD_NS)) break;
    }
    return NULL;
}

static bool start_thread(void)
{
    const uint64_t signals = mp_sys_block_signals();
    const bool started = mp_own_thread(run);
    mp_sys_restore_signals(signals);
    return started;
}

void mp_sampler_start(void)
{
    static const char why[] = "the thread memprof-gpu cannot be started";
    if (!mp_nvml_init()) return;
    __atomic_store_n(&s.ready, 1, __ATOMIC_RELEASE);
    atexit(stop); /* runs before the destructors of libraries */
    if (start_thread()) return;
    mp_device_note("used.off", why);
    mp_say("used device memory is not sampled: ", why, NULL, NULL);
}
