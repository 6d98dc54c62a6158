/* Interfaces between the stand-ins: libcupti and libnvidia-ml call these exported functions of the
 * stand-in libcuda.
 *
 * Tests control the stand-ins by environment variables:
 * - FAKE_CUDA_DEVICES: number of devices, default 2, at most FAKE_DEVICES; CUDA_VISIBLE_DEVICES
 *   selects and orders them by number
 * - FAKE_CUDA_TOTAL: bytes of a device, default 16 GiB
 * - FAKE_CUDA_OTHERS: bytes of each device that other processes use, default 0
 * - FAKE_CUDA_MIG: if set, the devices are parts of others (MIG), by their UUIDs
 * - FAKE_CUDA_SHARED: if set, they use host memory, and NVML has no figures of it
 * - FAKE_CUDA_NODE: their memory is this NUMA node of the host
 * - FAKE_CUPTI_BUSY: if set, another tool has subscribed to CUPTI
 * - FAKE_CUPTI_SEVERAL: if set, CUPTI is the one of CUDA 13.3, which can serve several tools
 * - FAKE_CUPTI_REFUSE: driver callbacks that CUPTI does not know: names or ids, separated by commas
 */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#include <stdbool.h>
#include <stdint.h>

#include <cuda.h>
#include <cudaProfiler.h>

enum {
    FAKE_DEVICES = 8,
    FAKE_TOOLS = 3,      /* that can subscribe at the same time */
    FAKE_UUID_TEXT = 41, /* "GPU-", 36 characters and the terminating 0 */
    FAKE_PCI_TEXT = 13
};

/* Bytes of a device that a driver keeps for itself. cuMemGetInfo's total excludes them, NVML's
 * total includes them. */
#define FAKE_DRIVER_RESERVED (64ull << 20)

/* A driver call that starts or ends. */
struct fake_event {
    unsigned cbid;
    const char *name;
    const void *params; /* the call's struct of generated_cuda_meta.h, or NULL */
    CUresult *result;   /* NULL at the start */
    CUcontext context;  /* the thread's current context */
    uint32_t context_uid, correlation;
    uint64_t *data; /* one word per tool (FAKE_TOOLS), kept from start to end */
};
/* Both functions are called on the thread that calls the driver. */
struct fake_tracer {
    void (*api)(const struct fake_event *event);
    void (*resource)(unsigned cbid, CUcontext context, CUstream stream, void *descriptor);
};

/* From now on `tracer` gets the calls; NULL stops this. The struct must stay valid. */
void fake_cuda_set_tracer(const struct fake_tracer *tracer);

struct fake_usage {
    char uuid[FAKE_UUID_TEXT], pci[FAKE_PCI_TEXT];
    uint64_t total, used, own; /* bytes; used includes own bytes and those of other processes */
    bool has_nvml_figures;     /* NVML has these figures */
};
/* Gets the usage of the n-th device. Returns false after the last. Works before cuInit, as NVML
 * does. */
bool fake_cuda_usage(unsigned n, struct fake_usage *out);

/* Returns NULL if the stand-in has no such call. */
const char *fake_cuda_call_name(unsigned cbid);

/* Returns a number that is unique in the process, or 0 for NULL. */
uint32_t fake_cuda_context_uid(CUcontext context);
uint32_t fake_cuda_graph_id(CUgraph graph);
uint32_t fake_cuda_exec_id(CUgraphExec exec);

#endif
