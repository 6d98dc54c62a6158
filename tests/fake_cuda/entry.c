/* The driver's look-up of its functions, by a base name and the version of CUDA that the caller was
 * built for. The function that a name means has changed between versions. */
#include <stdio.h>
#include <string.h>

#include "fake.h"

/* The first version from which a base name means a function, oldest first. Names that are not
 * listed have always meant one function. */
static const struct meaning {
    const char *symbol;
    int version;
    const char *name;
} meanings[] = {
    { "cuArray3DCreate", 3020, "cuArray3DCreate_v2" },
    { "cuArrayCreate", 3020, "cuArrayCreate_v2" },
    { "cuCtxCreate", 2000, "cuCtxCreate" },
    { "cuCtxCreate", 3020, "cuCtxCreate_v2" },
    { "cuCtxCreate", 11040, "cuCtxCreate_v3" },
    { "cuCtxCreate", 12050, "cuCtxCreate_v4" },
    { "cuCtxDestroy", 2000, "cuCtxDestroy" },
    { "cuCtxDestroy", 4000, "cuCtxDestroy_v2" },
    { "cuCtxSynchronize", 2000, "cuCtxSynchronize" },
    { "cuCtxSynchronize", 13000, "cuCtxSynchronize_v2" },
    { "cuDeviceGetUuid", 9020, "cuDeviceGetUuid" },
    { "cuDeviceGetUuid", 11040, "cuDeviceGetUuid_v2" },
    { "cuDevicePrimaryCtxRelease", 7000, "cuDevicePrimaryCtxRelease" },
    { "cuDevicePrimaryCtxRelease", 11000, "cuDevicePrimaryCtxRelease_v2" },
    { "cuDevicePrimaryCtxReset", 7000, "cuDevicePrimaryCtxReset" },
    { "cuDevicePrimaryCtxReset", 11000, "cuDevicePrimaryCtxReset_v2" },
    { "cuDeviceTotalMem", 3020, "cuDeviceTotalMem_v2" },
    { "cuGetProcAddress", 11030, "cuGetProcAddress" },
    { "cuGetProcAddress", 12000, "cuGetProcAddress_v2" },
    { "cuGraphExecUpdate", 10020, "cuGraphExecUpdate" },
    { "cuGraphExecUpdate", 12000, "cuGraphExecUpdate_v2" },
    { "cuGraphInstantiate", 10000, "cuGraphInstantiate" },
    { "cuGraphInstantiate", 11000, "cuGraphInstantiate_v2" },
    { "cuGraphInstantiate", 12000, "cuGraphInstantiateWithFlags" },
    { "cuMemAlloc", 3020, "cuMemAlloc_v2" },
    { "cuMemAllocHost", 2000, "cuMemAllocHost" },
    { "cuMemAllocHost", 3020, "cuMemAllocHost_v2" },
    { "cuMemAllocPitch", 3020, "cuMemAllocPitch_v2" },
    { "cuMemFree", 3020, "cuMemFree_v2" },
    { "cuMemGetAddressRange", 3020, "cuMemGetAddressRange_v2" },
    { "cuMemGetInfo", 3020, "cuMemGetInfo_v2" },
    { "cuMemHostRegister", 4000, "cuMemHostRegister" },
    { "cuMemHostRegister", 6050, "cuMemHostRegister_v2" },
    { "cuStreamBeginCapture", 10000, "cuStreamBeginCapture" },
    { "cuStreamBeginCapture", 10010, "cuStreamBeginCapture_v2" },
    { "cuStreamDestroy", 2000, "cuStreamDestroy" },
    { "cuStreamDestroy", 4000, "cuStreamDestroy_v2" },
};

/* Returns NULL if the name had no meaning in this version. */
static const char *meaning_of(const char *symbol, int version)
{
    const char *name = NULL;
    bool listed = false;
    for (size_t i = 0; i < sizeof meanings / sizeof meanings[0]; i++) {
        if (strcmp(meanings[i].symbol, symbol) != 0) continue;
        listed = true;
        if (meanings[i].version <= version) name = meanings[i].name;
    }
    return listed ? name : symbol;
}

static void *find(const char *name, bool per_thread)
{
    char variant[128];
    snprintf(variant, sizeof variant, "%s_ptsz", name);
    void *found = per_thread ? fake_function(variant) : NULL;
    return found ? found : fake_function(name);
}

CUresult fake_entry(const char *symbol, void **out, int version, cuuint64_t flags,
                    CUdriverProcAddressQueryResult *status)
{
    if (version > CUDA_VERSION) return CUDA_ERROR_INVALID_VALUE;
    const char *name = meaning_of(symbol, version);
    *out = name ? find(name, flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) : NULL;
    const CUdriverProcAddressQueryResult answer = *out ? CU_GET_PROC_ADDRESS_SUCCESS
                                                  : name
                                                      ? CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND
                                                      : CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
    if (status) *status = answer;
    return CUDA_SUCCESS;
}
