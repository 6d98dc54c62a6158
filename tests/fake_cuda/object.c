/* Modules, libraries, streams and events: their costs, and the resource callbacks around them. */
#include <stdlib.h>
#include <string.h>

#include "fake.h"
enum {
    RESOURCE_STREAM_CREATED = 3,
    RESOURCE_STREAM_DESTROY_STARTING,
    RESOURCE_MODULE_LOADED = 6,
    RESOURCE_MODULE_UNLOAD_STARTING,
    RESOURCE_MODULE_PROFILED
};

struct CUmod_st {
    CUcontext context;
};
struct CUlib_st {
    CUmodule module;
};
struct CUevent_st {
    uint32_t id;
};

static void *fake_new(size_t size)
{
    void *object = calloc(1, size);
    if (!object) abort();
    return object;
}

/* The same as CUPTI's CUpti_ModuleResourceData. */
static void tell_module(unsigned cbid, CUmodule module)
{
    struct {
        uint32_t id;
        size_t size;
        const char *cubin;
    } descriptor = { 0 };
    fake_resource(cbid, module->context, NULL, &descriptor);
}

CUresult fake_module_load(CUmodule *out, const void *image)
{
    const CUcontext context = fake_current();
    if (!context) return CUDA_ERROR_INVALID_CONTEXT;
    if (!image) return CUDA_ERROR_INVALID_VALUE;
    if (!fake_context_take(context, FAKE_GRANULE)) return CUDA_ERROR_OUT_OF_MEMORY;
    *out = fake_new(sizeof **out);
    (*out)->context = context;
    tell_module(RESOURCE_MODULE_LOADED, *out);
    tell_module(RESOURCE_MODULE_PROFILED, *out);
    return CUDA_SUCCESS;
}

CUresult fake_module_unload(CUmodule module)
{
    tell_module(RESOURCE_MODULE_UNLOAD_STARTING, module);
    if (fake_context_alive(module->context)) fake_context_give(module->context, FAKE_GRANULE);
    free(module);
    return CUDA_SUCCESS;
}

/* Functions and kernels are pointers to their module. The function named "spills" is the byte after
 * it. */
CUresult fake_module_function(CUfunction *out, CUmodule module, const char *name)
{
    *out = (CUfunction)(void *)((char *)module + (strcmp(name, "spills") == 0));
    return CUDA_SUCCESS;
}

size_t fake_function_local_bytes(CUfunction function) { return (uintptr_t)function & 1 ? 8192 : 0; }

CUresult fake_library_load(CUlibrary *out, const void *image)
{
    CUmodule module;
    const CUresult result = fake_module_load(&module, image);
    if (result) return result;
    *out = fake_new(sizeof **out);
    (*out)->module = module;
    return CUDA_SUCCESS;
}

CUresult fake_library_unload(CUlibrary library)
{
    fake_module_unload(library->module);
    free(library);
    return CUDA_SUCCESS;
}

CUresult fake_library_kernel(CUkernel *out, CUlibrary library)
{
    *out = (CUkernel)(void *)library->module;
    return CUDA_SUCCESS;
}

CUresult fake_kernel_function(CUfunction *out, CUkernel kernel)
{
    *out = (CUfunction)(void *)kernel;
    return CUDA_SUCCESS;
}

/* The first stream of a context allocates memory, which the next ones share. */
CUresult fake_stream_create(CUstream *out, CUcontext context)
{
    if (!fake_context_alive(context)) return CUDA_ERROR_INVALID_CONTEXT;
    if (!context->streams && !fake_context_take(context, FAKE_GRANULE))
        return CUDA_ERROR_OUT_OF_MEMORY;
    context->streams++;
    *out = fake_new(sizeof **out);
    (*out)->context = context;
    fake_resource(RESOURCE_STREAM_CREATED, context, *out, NULL);
    return CUDA_SUCCESS;
}

CUresult fake_stream_destroy(CUstream stream)
{
    fake_resource(RESOURCE_STREAM_DESTROY_STARTING, stream->context, stream, NULL);
    free(stream);
    return CUDA_SUCCESS;
}

CUresult fake_event_create(CUevent *out)
{
    if (!fake_current()) return CUDA_ERROR_INVALID_CONTEXT;
    *out = fake_new(sizeof **out);
    (*out)->id = fake_next_id();
    return CUDA_SUCCESS;
}

CUresult fake_event_destroy(CUevent event)
{
    free(event);
    return CUDA_SUCCESS;
}
