/* The part of NVML's interface that the stand-in implements. No toolkit contains nvml.h, so it is
 * declared here. */
#ifndef FAKE_NVML_H
#define FAKE_NVML_H

#include <stddef.h>

#define NVML_EXPORT __attribute__((visibility("default")))

enum nvml_return {
    NVML_SUCCESS = 0,
    NVML_ERROR_UNINITIALIZED = 1,
    NVML_ERROR_INVALID_ARGUMENT = 2,
    NVML_ERROR_NOT_SUPPORTED = 3,
    NVML_ERROR_NOT_FOUND = 6,
    NVML_ERROR_INSUFFICIENT_SIZE = 7,
    NVML_ERROR_VERSION_MISMATCH = 25
};
struct nvml_memory {
    unsigned long long total, free, used;
};
struct nvml_memory_v2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
};
struct nvml_process {
    unsigned pid;
    unsigned long long bytes;
    unsigned gpu_instance, compute_instance;
};
#define NVML_MEMORY_V2 (sizeof(struct nvml_memory_v2) | 2u << 24)

NVML_EXPORT enum nvml_return nvmlInit_v2(void);
NVML_EXPORT enum nvml_return nvmlShutdown(void);
NVML_EXPORT enum nvml_return nvmlDeviceGetHandleByUUID(const char *uuid, void **out);
NVML_EXPORT enum nvml_return nvmlDeviceGetHandleByPciBusId_v2(const char *pci, void **out);
NVML_EXPORT enum nvml_return nvmlDeviceGetMemoryInfo(void *device, struct nvml_memory *out);
NVML_EXPORT enum nvml_return nvmlDeviceGetMemoryInfo_v2(void *device, struct nvml_memory_v2 *out);
NVML_EXPORT enum nvml_return nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count,
                                                                     struct nvml_process *out);
NVML_EXPORT const char *nvmlErrorString(enum nvml_return result);

#endif
