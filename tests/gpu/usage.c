/* NVML and the driver report the same identity and bytes for a device. */
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

#include "nvml.h"
#include "steps.h"

enum { PROCESSES = 64 };

static struct {
    __typeof__(nvmlInit_v2) *init;
    __typeof__(nvmlShutdown) *shutdown;
    __typeof__(nvmlDeviceGetHandleByUUID) *by_uuid;
    __typeof__(nvmlDeviceGetHandleByPciBusId_v2) *by_pci;
    __typeof__(nvmlDeviceGetMemoryInfo) *memory;
    __typeof__(nvmlDeviceGetMemoryInfo_v2) *memory_v2;
    __typeof__(nvmlDeviceGetComputeRunningProcesses_v3) *processes;
} nvml;

static void load(void)
{
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    CHECK(library);
    CHECK((*(void **)&nvml.init = dlsym(library, "nvmlInit_v2")));
    CHECK((*(void **)&nvml.shutdown = dlsym(library, "nvmlShutdown")));
    CHECK((*(void **)&nvml.by_uuid = dlsym(library, "nvmlDeviceGetHandleByUUID")));
    CHECK((*(void **)&nvml.by_pci = dlsym(library, "nvmlDeviceGetHandleByPciBusId_v2")));
    CHECK((*(void **)&nvml.memory = dlsym(library, "nvmlDeviceGetMemoryInfo")));
    CHECK((*(void **)&nvml.memory_v2 = dlsym(library, "nvmlDeviceGetMemoryInfo_v2")));
    CHECK((*(void **)&nvml.processes = dlsym(library, "nvmlDeviceGetComputeRunningProcesses_v3")));
}

static void *device_by_uuid(CUdevice device)
{
    CUuuid uuid;
    OK(cuDeviceGetUuid(&uuid, device));
    const unsigned char *u = (const unsigned char *)uuid.bytes;
    char text[64];
    snprintf(text, sizeof text,
             "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0], u[1],
             u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14],
             u[15]);
    void *handle;
    CHECK(nvml.by_uuid(text, &handle) == NVML_SUCCESS);
    return handle;
}

static void *device_by_pci(CUdevice device)
{
    char text[32];
    void *handle;
    OK(cuDeviceGetPCIBusId(text, sizeof text, device));
    CHECK(nvml.by_pci(text, &handle) == NVML_SUCCESS);
    return handle;
}

static unsigned long long own_bytes(void *handle)
{
    struct nvml_process list[PROCESSES];
    unsigned count = PROCESSES;
    CHECK(nvml.processes(handle, &count, list) == NVML_SUCCESS);
    for (unsigned i = 0; i < count; i++) {
        if (list[i].pid == (unsigned)getpid()) return list[i].bytes;
    }
    return 0;
}

static struct nvml_memory_v2 memory_of(void *handle)
{
    struct nvml_memory_v2 now = { .version = NVML_MEMORY_V2 };
    struct nvml_memory old;
    CHECK(nvml.memory_v2(handle, &now) == NVML_SUCCESS &&
          nvml.memory(handle, &old) == NVML_SUCCESS);
    CHECK(now.total == now.used + now.free + now.reserved);
    CHECK(old.total == now.total && old.used == now.used + now.reserved);
    return now;
}

int main(void)
{
    struct nvml_memory_v2 none = { .version = NVML_MEMORY_V2 };
    load();
    CHECK(nvml.memory_v2(NULL, &none) == NVML_ERROR_UNINITIALIZED);
    CHECK(nvml.init() == NVML_SUCCESS);
    steps_start();
    step("start");
    int count;
    OK(cuDeviceGetCount(&count));
    for (CUdevice i = 0; i < count; i++) CHECK(device_by_uuid(i) == device_by_pci(i));

    void *handle = device_by_uuid(0);
    const unsigned long long own = own_bytes(handle), used = memory_of(handle).used;
    const CUdeviceptr address = steps_alloc(64 * MIB);
    step("allocated");
    CHECK(memory_of(handle).used == used + 64 * MIB);
    CHECK(own_bytes(handle) == own + 64 * MIB);
    steps_free(address, 64 * MIB);
    CHECK(nvml.shutdown() == NVML_SUCCESS);
    step("end");
    return 0;
}
