/* What the stand-ins tell each other: libcupti and libnvidia-ml ask the stand-in libcuda by these
 * exported functions.
 *
 * A test steers the stand-ins by the environment:
 * - FAKE_CUDA_DEVICES: devices, default 2, at most FAKE_DEVICES; CUDA_VISIBLE_DEVICES picks and
 *   orders them by number
 * - FAKE_CUDA_TOTAL: bytes of a device, default 16 GiB
 * - FAKE_CUDA_OTHERS: bytes of each device that other processes hold, default 0
 * - FAKE_CUDA_MIG: set: the devices are parts of others (MIG), by their UUIDs
 * - FAKE_CUDA_SHARED: set: their memory is the host's, and NVML has no figures of it
 * - FAKE_CUDA_NODE: their memory is this NUMA node of the host
 * - FAKE_CUPTI_BUSY: set: another tool has subscribed to CUPTI
 * - FAKE_CUPTI_SEVERAL: set: CUPTI is 13.3's, which can serve several
 * - FAKE_CUPTI_REFUSE: driver callbacks that CUPTI does not know: names or ids, with commas between
 */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#include <stdbool.h>
#include <stdint.h>

#include <cuda.h>
#include <cudaProfiler.h>

enum {
    FAKE_DEVICES = 8,
    FAKE_TOOLS = 3,      /* that are told of a call at once */
    FAKE_UUID_TEXT = 41, /* "GPU-" and 36 characters, with the closing 0 */
    FAKE_PCI_TEXT = 13
};

/* Bytes that a driver keeps of a device for itself: cuMemGetInfo's total lacks them, NVML's counts
 * them. */
#define FAKE_DRIVER_RESERVED (64ull << 20)

/* A driver call that starts or ends. */
struct fake_event {
    unsigned cbid;
    const char *name;
    const void *params; /* the call's struct of generated_cuda_meta.h; NULL where it has none */
    CUresult *result;   /* NULL at the start */
    CUcontext context;  /* the thread's, now */
    uint32_t context_uid, correlation;
    uint64_t *data; /* the tools', from start to end: FAKE_TOOLS */
};
/* Both are called on the thread that calls the driver. */
struct fake_tracer {
    void (*api)(const struct fake_event *event);
    void (*resource)(unsigned cbid, CUcontext context, CUstream stream, void *descriptor);
};

/* From then on calls are told to `tracer`, or to nobody (NULL).  What it points to stays. */
void fake_cuda_set_tracer(const struct fake_tracer *tracer);

struct fake_usage {
    char uuid[FAKE_UUID_TEXT], pci[FAKE_PCI_TEXT];
    uint64_t total, used, own; /* bytes; used includes own and what others hold */
    bool told;                 /* by NVML */
};
/* The n-th device; false past the last.  Works before cuInit, as NVML does. */
bool fake_cuda_usage(unsigned n, struct fake_usage *out);

/* NULL: the stand-in has no such call. */
const char *fake_cuda_call_name(unsigned cbid);

/* Numbers of things, unique in the process; 0 for NULL. */
uint32_t fake_cuda_context_uid(CUcontext context);
uint32_t fake_cuda_graph_id(CUgraph graph);
uint32_t fake_cuda_exec_id(CUgraphExec exec);

#endif
