/* Defines the exported calls. Each runs the code of its line in api.def between the callbacks of a
 * tool. The tool gets the parameters in the struct of the real header. */
#include "fake.h"

#include <string.h>

#include <cupti_driver_cbid.h>
#include <generated_cuda_meta.h>

#define VALUES(...)                                                                                \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define SERVE(fn, parameters, work)                                                                \
    struct fake_call call = { .cbid = CUPTI_DRIVER_TRACE_CBID_##fn,                                \
                              .name = #fn,                                                         \
                              .params = parameters };                                              \
    const CUresult refused = fake_enter(&call);                                                    \
    return fake_leave(&call, refused ? refused : (CUresult)(work));

#define API(fn, parameters, arguments, work)                                                       \
    FAKE_EXPORT CUresult CUDAAPI fn parameters                                                     \
    {                                                                                              \
        const fn##_params filled = VALUES arguments;                                               \
        SERVE(fn, &filled, work)                                                                   \
    }
#define API_NONE(fn, work)                                                                         \
    FAKE_EXPORT CUresult CUDAAPI fn(void) { SERVE(fn, NULL, work) }
#define STREAM_API(fn, parameters, arguments, work)                                                \
    API(fn, parameters, arguments, work)                                                           \
    API(fn##_ptsz, parameters, arguments, work)

#include "api.def"

#undef API
#undef API_NONE
#undef STREAM_API
#define API(fn, parameters, arguments, work)        API_NONE(fn, work)
#define API_NONE(fn, work)                          { CUPTI_DRIVER_TRACE_CBID_##fn, #fn, (void *)fn },
#define STREAM_API(fn, parameters, arguments, work) API_NONE(fn, work) API_NONE(fn##_ptsz, work)

static const struct {
    unsigned cbid;
    const char *name;
    void *function;
} calls[] = {
#include "api.def"
};

FAKE_EXPORT const char *fake_cuda_call_name(unsigned cbid)
{
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        if (calls[i].cbid == cbid) return calls[i].name;
    }
    return NULL;
}

void *fake_function(const char *name)
{
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        if (strcmp(calls[i].name, name) == 0) return calls[i].function;
    }
    return NULL;
}

static const struct {
    CUresult result;
    const char *name;
} names[] = {
#define NAME(result)                                                                               \
    {                                                                                              \
        result, #result                                                                            \
    }
    NAME(CUDA_SUCCESS),
    NAME(CUDA_ERROR_INVALID_VALUE),
    NAME(CUDA_ERROR_OUT_OF_MEMORY),
    NAME(CUDA_ERROR_NOT_INITIALIZED),
    NAME(CUDA_ERROR_INVALID_DEVICE),
    NAME(CUDA_ERROR_INVALID_CONTEXT),
    NAME(CUDA_ERROR_NOT_PERMITTED),
    NAME(CUDA_ERROR_NOT_SUPPORTED),
    NAME(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED),
    NAME(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED),
#undef NAME
};

FAKE_EXPORT CUresult CUDAAPI cuGetErrorName(CUresult error, const char **text)
{
    *text = "an error";
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (names[i].result == error) *text = names[i].name;
    }
    return CUDA_SUCCESS;
}

FAKE_EXPORT CUresult CUDAAPI cuGetErrorString(CUresult error, const char **text)
{
    return cuGetErrorName(error, text);
}
