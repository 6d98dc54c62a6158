/* A library that is preloaded before the driver. At each call it looks up the next function of the
 * name, or with BY_HANDLE the driver's function. At its end it prints how often it was called. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

#include <cuda.h>

#define EXPORT __attribute__((visibility("default")))

#ifdef BY_HANDLE
#define NEXT dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD)
#else
#define NEXT RTLD_NEXT
#endif

static unsigned allocs, frees;

EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *out, size_t bytes)
{
    CUresult (*next)(CUdeviceptr *, size_t) = dlsym(NEXT, "cuMemAlloc_v2");
    allocs++;
    return next(out, bytes);
}

EXPORT CUresult cuMemFree_v2(CUdeviceptr address)
{
    CUresult (*next)(CUdeviceptr) = dlsym(NEXT, "cuMemFree_v2");
    frees++;
    return next(address);
}

__attribute__((destructor)) static void end(void)
{
    printf("interposed: %u allocations, %u frees\n", allocs, frees);
}
