/* The stand-in libnvidia-ml. */
#include "nvml.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fake_cuda.h"

static pid_t initialized; /* the process that called nvmlInit */

/* Handles start at 1, because NULL is not a handle. */
static void *handle_of(unsigned n) { return (void *)(uintptr_t)(n + 1); }

static enum nvml_return usage_of(void *device, struct fake_usage *out)
{
    if (!initialized) return NVML_ERROR_UNINITIALIZED;
    if (initialized != getpid()) fprintf(stderr, "NVML is asked in a forked child\n");
    return device && fake_cuda_usage((unsigned)(uintptr_t)device - 1, out)
               ? NVML_SUCCESS
               : NVML_ERROR_INVALID_ARGUMENT;
}

enum nvml_return nvmlInit_v2(void)
{
    initialized = getpid();
    return NVML_SUCCESS;
}

enum nvml_return nvmlShutdown(void)
{
    initialized = 0;
    return NVML_SUCCESS;
}

static enum nvml_return find(size_t field, const char *text, void **out)
{
    if (!initialized) return NVML_ERROR_UNINITIALIZED;
    struct fake_usage usage;
    for (unsigned n = 0; fake_cuda_usage(n, &usage); n++) {
        if (strcmp((const char *)&usage + field, text) != 0) continue;
        *out = handle_of(n);
        return NVML_SUCCESS;
    }
    return NVML_ERROR_NOT_FOUND;
}

enum nvml_return nvmlDeviceGetHandleByUUID(const char *uuid, void **out)
{
    return find(offsetof(struct fake_usage, uuid), uuid, out);
}

enum nvml_return nvmlDeviceGetHandleByPciBusId_v2(const char *pci, void **out)
{
    return find(offsetof(struct fake_usage, pci), pci, out);
}

/* The first version counts the driver's reserved bytes as used. */
enum nvml_return nvmlDeviceGetMemoryInfo(void *device, struct nvml_memory *out)
{
    struct fake_usage usage;
    const enum nvml_return result = usage_of(device, &usage);
    if (result) return result;
    if (!usage.has_nvml_figures) return NVML_ERROR_NOT_SUPPORTED;
    out->total = usage.total + FAKE_DRIVER_RESERVED;
    out->free = usage.total - usage.used;
    out->used = usage.used + FAKE_DRIVER_RESERVED;
    return NVML_SUCCESS;
}

enum nvml_return nvmlDeviceGetMemoryInfo_v2(void *device, struct nvml_memory_v2 *out)
{
    struct fake_usage usage;
    const enum nvml_return result = usage_of(device, &usage);
    if (result) return result;
    if (!usage.has_nvml_figures) return NVML_ERROR_NOT_SUPPORTED;
    if (out->version != NVML_MEMORY_V2) return NVML_ERROR_VERSION_MISMATCH;
    out->total = usage.total + FAKE_DRIVER_RESERVED;
    out->reserved = FAKE_DRIVER_RESERVED;
    out->free = usage.total - usage.used;
    out->used = usage.used;
    return NVML_SUCCESS;
}

/* Lists only this process, because the processes that have the other bytes are unknown. */
enum nvml_return nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count,
                                                         struct nvml_process *out)
{
    struct fake_usage usage;
    const enum nvml_return result = usage_of(device, &usage);
    if (result) return result;
    const unsigned room = *count;
    *count = usage.own != 0;
    if (room < *count) return NVML_ERROR_INSUFFICIENT_SIZE;
    if (*count) out[0] = (struct nvml_process){ (unsigned)getpid(), usage.own, ~0u, ~0u };
    return NVML_SUCCESS;
}

const char *nvmlErrorString(enum nvml_return result)
{
    return result ? "an error of the stand-in" : "Success";
}
