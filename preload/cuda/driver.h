/* The driver's queries, looked up in the libcuda that the process has loaded. Each is NULL in an
 * older driver without it. */
#ifndef MP_DRIVER_H
#define MP_DRIVER_H

#include <cuda.h>
#include <stdbool.h>

#define MP_DRIVER_CALLS(X)                                                                         \
    X(cuMemGetInfo_v2, size_t *, size_t *)                                                         \
    X(cuCtxGetDevice, CUdevice *)                                                                  \
    X(cuCtxGetCurrent, CUcontext *)                                                                \
    X(cuCtxGetLimit, size_t *, CUlimit)                                                            \
    X(cuDriverGetVersion, int *)                                                                   \
    X(cuDeviceGetName, char *, int, CUdevice)                                                      \
    X(cuDeviceGetAttribute, int *, CUdevice_attribute, CUdevice)                                   \
    X(cuDeviceGetUuid_v2, CUuuid *, CUdevice)                                                      \
    X(cuDeviceGetPCIBusId, char *, int, CUdevice)                                                  \
    X(cuDeviceTotalMem_v2, size_t *, CUdevice)                                                     \
    X(cuDevicePrimaryCtxGetState, CUdevice, unsigned *, int *)                                     \
    X(cuDeviceGetGraphMemAttribute, CUdevice, CUgraphMem_attribute, void *)                        \
    X(cuMemPoolGetAttribute, CUmemoryPool, CUmemPool_attribute, void *)                            \
    X(cuPointerGetAttributes, unsigned, CUpointer_attribute *, void **, CUdeviceptr)               \
    X(cuStreamIsCapturing, CUstream, CUstreamCaptureStatus *)                                      \
    X(cuGraphGetNodes, CUgraph, CUgraphNode *, size_t *)

struct mp_driver {
#define X(name, ...) CUresult (*name)(__VA_ARGS__);
    MP_DRIVER_CALLS(X)
#undef X
};
extern struct mp_driver mp_driver;

/* Returns false if libcuda.so.1 is not loaded. Called once, while no callback runs. */
bool mp_driver_init(void);

/* Calls a query of the driver with the thread's recording off, so that the driver's allocations for
 * it are not recorded. False if the driver does not have the query or refuses it. */
#define MP_DRIVER_ASK(name, ...)                                                                   \
    ({                                                                                             \
        const struct mp_guarded guard_ = mp_guard_enter();                                         \
        const bool ok_ = mp_driver.name && mp_driver.name(__VA_ARGS__) == CUDA_SUCCESS;            \
        mp_guard_leave(guard_);                                                                    \
        ok_;                                                                                       \
    })

#endif
