/* PyTorch: blocks of its caching allocator (gpuN/torch), its out-of-memory reports, and its graph
 * captures.
 *
 * libc10_cuda calls the c10 functions on every block, whether a profiler listens or not. These
 * replace libc10's because this library comes first in look-up order, and forward to them. PyTorch
 * is loaded RTLD_LOCAL, so its functions are found in its files, not with RTLD_NEXT. The
 * allocator's lock is held during the reports: no CUDA and no Python here. */
#include <errno.h>
#include <stddef.h>

#include "base/loader.h"
#include "core/config.h"
#include "core/draw.h"
#include "core/encoder.h"
#include "core/process.h"
#include "core/record.h"
#include "core/window.h"
#include "mpf/gpu.h"
#include "python/python.h"
#include "torch/torch_library.h"
#include "torch/torch_numbers.h"
#include "torch/torch_ranges.h"

/* The function that a hook replaces. It is looked up at the hook's first call, by any of several
 * threads. */
struct real {
    const char *file, *name;
    void *function;
    bool known;
};

static void *real_function(struct real *real)
{
    if (__atomic_load_n(&real->known, __ATOMIC_ACQUIRE))
        return __atomic_load_n(&real->function, __ATOMIC_RELAXED);
    const int saved = errno;
    void *library = mp_torch_library(real->file);
    void *function = library ? dlsym(library, real->name) : NULL;
    mp_loader_forget_error();
    __atomic_store_n(&real->function, function, __ATOMIC_RELAXED);
    __atomic_store_n(&real->known, true, __ATOMIC_RELEASE);
    errno = saved;
    return function;
}

/* ---- c10::Device, in one register: one byte of type, and one or, in some versions, two aligned
 * bytes of index. The first byte is right for every index in a process. Replay relies more on the
 * block's segment. */

static bool on_cuda(uint64_t device) { return (device & 0xff) == 1; }
static unsigned torch_heap(uint64_t device)
{
    return mpf_heap_gpu(MPF_HEAP_TORCH, device >> 8 & (MPF_GPUS - 1));
}

static void level(uint64_t device, uint64_t allocated, uint64_t reserved)
{
    static uint64_t last[MPF_GPUS];
    uint64_t *at = &last[device >> 8 & (MPF_GPUS - 1)];
    if (__atomic_load_n(at, __ATOMIC_RELAXED) == reserved ||
        __atomic_exchange_n(at, reserved, __ATOMIC_RELAXED) == reserved)
        return;
    mp_record(MPF_OP_TORCH_LEVEL, torch_heap(device), reserved,
              allocated < MPF_SIZE_MAX ? allocated : MPF_SIZE_MAX);
}

static uint32_t draw_gap(uint32_t *random)
{
    const uint64_t gap = mp_draw(random, mp_config.stacks_mean);
    return gap < UINT32_MAX ? (uint32_t)gap : UINT32_MAX;
}

/* Returns true if the block contains the thread's next sampling point: with probability
 * 1 - exp(-bytes / mean). */
static bool is_sampled(uint64_t bytes)
{
    static __thread struct {
        uint32_t bytes_left; /* until the next point */
        uint32_t random;     /* 0 before the first draw */
    } here __attribute__((tls_model("initial-exec")));
    if (!here.random) here.bytes_left = draw_gap(&here.random);
    const bool is_point = bytes >= here.bytes_left;
    here.bytes_left = is_point ? draw_gap(&here.random) : here.bytes_left - (uint32_t)bytes;
    return is_point;
}

static bool has_stack(uint64_t bytes)
{
    return bytes >= MP_LARGE || (mp_config.stacks == MP_STACKS_ALL && mp_window_is_open()) ||
           (mp_config_samples_python() && is_sampled(bytes));
}

/* A free has a negative size. */
static void on_memory(void *block, int64_t bytes, uint64_t allocated, uint64_t reserved,
                      uint64_t device)
{
    if (!mp_process_active() || !on_cuda(device)) return;
    if (mp_config.stacks_by_default) mp_record_end_samples();
    mp_torch_ranges_start();
    mp_python_start();
    level(device, allocated, reserved);
    if (bytes > 0 && has_stack((uint64_t)bytes)) {
        mp_torch_next();
        mp_python_at();
    } else if (bytes > 0 && !mp_torch_has_next()) mp_torch_next();
    if (bytes > 0) mp_record(MPF_OP_ALLOC, torch_heap(device), (uintptr_t)block, (uint64_t)bytes);
    else if (bytes < 0) mp_record(MPF_OP_FREE, torch_heap(device), (uintptr_t)block, 0);
}

/* The device's free bytes are in the driver's refusal just before, if there was one. */
static void on_out_of_memory(uint64_t bytes, uint64_t allocated, uint64_t reserved, uint64_t device)
{
    if (!mp_process_active() || !on_cuda(device)) return;
    const uint64_t v[] = { [MPF_TORCH_ALLOCATED] = allocated, [MPF_TORCH_RESERVED] = reserved };
    mp_record_data(MPF_OP_TORCH_OOM, torch_heap(device), bytes, v, sizeof v);
    mp_encoder_wake();
}

#define HOOK __attribute__((visibility("default")))
typedef void memory_report(void *block, int64_t bytes, uint64_t allocated, uint64_t reserved,
                           uint64_t device);
typedef void oom_report(uint64_t bytes, uint64_t allocated, uint64_t reserved, uint64_t device);

#define MEMORY(name)                                                                               \
    HOOK memory_report name;                                                                       \
    void name(void *block, int64_t bytes, uint64_t allocated, uint64_t reserved, uint64_t device)  \
    {                                                                                              \
        static struct real real = { "libc10.so", #name, NULL, false };                             \
        on_memory(block, bytes, allocated, reserved, device);                                      \
        memory_report *next = (memory_report *)real_function(&real);                               \
        if (next) next(block, bytes, allocated, reserved, device);                                 \
    }
#define OUT_OF_MEMORY(name)                                                                        \
    HOOK oom_report name;                                                                          \
    void name(uint64_t bytes, uint64_t allocated, uint64_t reserved, uint64_t device)              \
    {                                                                                              \
        static struct real real = { "libc10.so", #name, NULL, false };                             \
        on_out_of_memory(bytes, allocated, reserved, device);                                      \
        oom_report *next = (oom_report *)real_function(&real);                                     \
        if (next) next(bytes, allocated, reserved, device);                                        \
    }

MEMORY(_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE)
MEMORY(_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE)
OUT_OF_MEMORY(_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE)
OUT_OF_MEMORY(_ZN3c1027reportOutOfMemoryToProfilerEmmmNS_6DeviceE)
OUT_OF_MEMORY(_ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE)

/* PyTorch calls this before each block of host memory. Without CUDA this is the only sign that
 * PyTorch is in use. */
HOOK bool _ZN3c1022memoryProfilingEnabledEv(void);
bool _ZN3c1022memoryProfilingEnabledEv(void)
{
    static struct real real = { "libc10.so", "_ZN3c1022memoryProfilingEnabledEv", NULL, false };
    if (mp_process_active()) mp_torch_ranges_start();
    bool (*next)(void) = (bool (*)(void))real_function(&real);
    return next && next();
}

/* ---- at::cuda::CUDAGraph: member functions, so the object is the first argument. They may throw,
 * but nothing here needs to be undone. */

/* std::pair of two unsigned long long, which is passed and returned in two registers */
struct pool_id {
    uint64_t a, b;
};

typedef void begin_capture(void *graph, struct pool_id pool, int mode);
typedef void end_capture(void *graph);
typedef struct pool_id pool_of_graph(void *graph);

HOOK begin_capture _ZN2at4cuda9CUDAGraph13capture_beginESt4pairIyyE21cudaStreamCaptureMode;
HOOK end_capture _ZN2at4cuda9CUDAGraph11capture_endEv;
HOOK end_capture _ZN2at4cuda9CUDAGraph15capture_end_preEv;
HOOK end_capture _ZN2at4cuda9CUDAGraph5resetEv;

/* A pool of 0, 0 means a separate one for this graph. */
void _ZN2at4cuda9CUDAGraph13capture_beginESt4pairIyyE21cudaStreamCaptureMode(void *graph,
                                                                             struct pool_id pool,
                                                                             int mode)
{
    static struct real real = {
        "libtorch_cuda.so",
        "_ZN2at4cuda9CUDAGraph13capture_beginESt4pairIyyE21cudaStreamCaptureMode", NULL, false
    };
    if (mp_process_active())
        mp_record_data(MPF_OP_TORCH_CAPTURE, MPF_HEAP_NONE, (uintptr_t)graph, &pool, sizeof pool);
    begin_capture *next = (begin_capture *)real_function(&real);
    if (next) next(graph, pool, mode);
}

/* The graph knows its pool once the capture has ended. */
static void on_capture_end(void *graph)
{
    static struct real real = { "libtorch_cuda.so", "_ZN2at4cuda9CUDAGraph4poolEv", NULL, false };
    if (!mp_process_active()) return;
    pool_of_graph *pool_of = (pool_of_graph *)real_function(&real);
    const struct pool_id pool = pool_of ? pool_of(graph) : (struct pool_id){ 0, 0 };
    mp_record_data(MPF_OP_TORCH_CAPTURE_END, MPF_HEAP_NONE, (uintptr_t)graph, &pool, sizeof pool);
}

static struct real end_pre = { "libtorch_cuda.so", "_ZN2at4cuda9CUDAGraph15capture_end_preEv", NULL,
                               false };

/* Since PyTorch 2.14 this calls the next function, and Python calls only the next one. */
void _ZN2at4cuda9CUDAGraph11capture_endEv(void *graph)
{
    static struct real real = { "libtorch_cuda.so", "_ZN2at4cuda9CUDAGraph11capture_endEv", NULL,
                                false };
    end_capture *next = (end_capture *)real_function(&real);
    if (next) next(graph);
    if (!real_function(&end_pre)) on_capture_end(graph);
}

void _ZN2at4cuda9CUDAGraph15capture_end_preEv(void *graph)
{
    end_capture *next = (end_capture *)real_function(&end_pre);
    if (next) next(graph);
    on_capture_end(graph);
}

void _ZN2at4cuda9CUDAGraph5resetEv(void *graph)
{
    static struct real real = { "libtorch_cuda.so", "_ZN2at4cuda9CUDAGraph5resetEv", NULL, false };
    end_capture *next = (end_capture *)real_function(&real);
    if (next) next(graph);
    if (mp_process_active())
        mp_record(MPF_OP_TORCH_GRAPH_RESET, MPF_HEAP_NONE, (uintptr_t)graph, 0);
}
