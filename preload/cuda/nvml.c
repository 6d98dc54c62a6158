#include "cuda/nvml.h"

#include <dlfcn.h>

#include "base/sys.h"

/* NVML's ABI is declared here, so that no toolkit is needed. */
enum { NVML_OK = 0 };
struct memory_v2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
};
struct process {
    unsigned pid;
    unsigned long long bytes;
    unsigned gpu_instance, compute_instance;
};
#define MEMORY_V2 (sizeof(struct memory_v2) | 2u << 24)
enum { PROCESSES = 64 };

static struct {
    int (*init)(void);
    int (*by_uuid)(const char *, void **);
    int (*memory)(void *, struct memory_v2 *);
    int (*processes)(void *, unsigned *, struct process *);
} nvml;

bool mp_nvml_init(void)
{
    void *library = dlopen("libnvidia-ml.so.1", RTLD_LAZY);
    if (!library) return false;
    nvml.init = (__typeof__(nvml.init))dlsym(library, "nvmlInit_v2");
    nvml.by_uuid = (__typeof__(nvml.by_uuid))dlsym(library, "nvmlDeviceGetHandleByUUID");
    nvml.memory = (__typeof__(nvml.memory))dlsym(library, "nvmlDeviceGetMemoryInfo_v2");
    nvml.processes =
        (__typeof__(nvml.processes))dlsym(library, "nvmlDeviceGetComputeRunningProcesses_v3");
    return nvml.init && nvml.by_uuid && nvml.memory && nvml.init() == NVML_OK;
}

void *mp_nvml_device(const char *uuid)
{
    void *device;
    return nvml.by_uuid(uuid, &device) == NVML_OK ? device : NULL;
}

bool mp_nvml_memory(void *device, struct mp_nvml_memory *out)
{
    struct memory_v2 m = { .version = MEMORY_V2 };
    if (nvml.memory(device, &m) != NVML_OK) return false;
    *out = (struct mp_nvml_memory){ m.total, m.reserved, m.free, m.used };
    return true;
}

bool mp_nvml_own(void *device, uint64_t *bytes)
{
    struct process list[PROCESSES];
    unsigned count = PROCESSES;
    if (!nvml.processes || nvml.processes(device, &count, list) != NVML_OK) return false;
    const unsigned me = (unsigned)mp_sys_getpid();
    for (unsigned i = 0; i < count && i < PROCESSES; i++) {
        if (list[i].pid != me) continue;
        *bytes = list[i].bytes;
        return true;
    }
    return false;
}
