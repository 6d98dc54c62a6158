/* Contexts. Their costs are smaller than those of an H200, but of the same kinds. The cost of local
 * memory is exact: a launch allocates it for every thread that the GPU can run at once, and the
 * limit then has the value that the kernel needs. */
#include <stdlib.h>

#include "fake.h"

enum { RESOURCE_CREATED = 1, RESOURCE_DESTROY_STARTING = 2, STACKED = 16 };

#define CONTEXT_BYTES (256ull << 20)
#define GREEN_BYTES   (32ull << 20)
#define DEFAULT_STACK 1024
#define GPU_THREADS   (FAKE_PROCESSORS * FAKE_PROCESSOR_THREADS)

static CUcontext living;
static _Thread_local struct {
    unsigned depth;
    CUcontext contexts[STACKED];
} stack;

bool fake_context_alive(CUcontext context)
{
    CUcontext c = living;
    while (c && c != context) c = c->next;
    return c && context;
}

CUcontext fake_current(void)
{
    const CUcontext top = stack.depth ? stack.contexts[stack.depth - 1] : NULL;
    return fake_context_alive(top) ? top : NULL;
}

struct fake_device *fake_current_device(void)
{
    const CUcontext c = fake_current();
    return c ? fake_device(c->device) : NULL;
}

FAKE_EXPORT uint32_t fake_cuda_context_uid(CUcontext context) { return context ? context->uid : 0; }

bool fake_context_take(CUcontext context, uint64_t bytes)
{
    if (!fake_take(fake_device(context->device), bytes)) return false;
    context->code += bytes;
    return true;
}

void fake_context_give(CUcontext context, uint64_t bytes)
{
    fake_give(fake_device(context->device), bytes);
    context->code -= bytes;
}

static CUresult make(CUcontext *out, CUdevice device, uint64_t bytes)
{
    struct fake_device *d = fake_device(device);
    if (!d) return CUDA_ERROR_INVALID_DEVICE;
    if (!fake_take(d, bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
    const CUcontext c = calloc(1, sizeof *c);
    if (!c) abort();
    *c =
        (struct CUctx_st){ .next = living, .uid = fake_next_id(), .device = device, .base = bytes };
    c->stack_limit = DEFAULT_STACK;
    living = c;
    *out = c;
    fake_resource(RESOURCE_CREATED, c, NULL, NULL);
    return CUDA_SUCCESS;
}

static void end(CUcontext context)
{
    fake_resource(RESOURCE_DESTROY_STARTING, context, NULL, NULL);
    fake_block_end_context(context);
    struct fake_device *d = fake_device(context->device);
    fake_give(d, context->base);
    fake_give(d, context->stack);
    fake_give(d, context->code);
    for (CUcontext *at = &living; *at; at = &(*at)->next) {
        if (*at != context) continue;
        *at = context->next;
        break;
    }
    free(context);
}

CUresult fake_context_create(CUcontext *out, CUdevice device)
{
    const CUresult result = make(out, device, CONTEXT_BYTES);
    return result ? result : fake_context_push(*out);
}

CUresult fake_context_destroy(CUcontext context)
{
    if (!fake_context_alive(context)) return CUDA_ERROR_INVALID_CONTEXT;
    if (fake_current() == context) stack.depth--;
    end(context);
    return CUDA_SUCCESS;
}

CUresult fake_context_push(CUcontext context)
{
    if (!fake_context_alive(context)) return CUDA_ERROR_INVALID_CONTEXT;
    if (stack.depth == STACKED) return CUDA_ERROR_INVALID_VALUE;
    stack.contexts[stack.depth++] = context;
    return CUDA_SUCCESS;
}

CUresult fake_context_pop(CUcontext *out)
{
    if (!stack.depth) return CUDA_ERROR_INVALID_CONTEXT;
    stack.depth--;
    if (out) *out = stack.contexts[stack.depth];
    return CUDA_SUCCESS;
}

CUresult fake_context_set(CUcontext context)
{
    if (stack.depth) stack.depth--;
    return context ? fake_context_push(context) : CUDA_SUCCESS;
}

CUresult fake_context_get(CUcontext *out)
{
    *out = fake_current();
    return CUDA_SUCCESS;
}

CUresult fake_context_device(CUdevice *out, CUcontext context)
{
    const CUcontext c = context ? context : fake_current();
    if (!fake_context_alive(c)) return CUDA_ERROR_INVALID_CONTEXT;
    *out = c->device;
    return CUDA_SUCCESS;
}

CUresult fake_context_set_limit(CUlimit limit, size_t value)
{
    const CUcontext c = fake_current();
    if (!c) return CUDA_ERROR_INVALID_CONTEXT;
    if (limit == CU_LIMIT_STACK_SIZE) c->stack_limit = value;
    return CUDA_SUCCESS;
}

CUresult fake_context_get_limit(size_t *value, CUlimit limit)
{
    const CUcontext c = fake_current();
    if (!c) return CUDA_ERROR_INVALID_CONTEXT;
    if (limit != CU_LIMIT_STACK_SIZE) return CUDA_ERROR_UNSUPPORTED_LIMIT;
    *value = c->stack_limit;
    return CUDA_SUCCESS;
}

/* ---- primary contexts: one per device, created when first retained ---- */

CUresult fake_primary_retain(CUcontext *out, CUdevice device)
{
    struct fake_device *d = fake_device(device);
    if (!d) return CUDA_ERROR_INVALID_DEVICE;
    if (!d->primary) {
        const CUresult result = make(&d->primary, device, CONTEXT_BYTES);
        if (result) return result;
    }
    d->primary->references++;
    *out = d->primary;
    return CUDA_SUCCESS;
}

CUresult fake_primary_reset(CUdevice device)
{
    struct fake_device *d = fake_device(device);
    if (!d) return CUDA_ERROR_INVALID_DEVICE;
    if (d->primary) end(d->primary);
    d->primary = NULL;
    return CUDA_SUCCESS;
}

CUresult fake_primary_release(CUdevice device)
{
    struct fake_device *d = fake_device(device);
    if (!d) return CUDA_ERROR_INVALID_DEVICE;
    if (!d->primary) return CUDA_ERROR_INVALID_CONTEXT;
    return --d->primary->references ? CUDA_SUCCESS : fake_primary_reset(device);
}

CUresult fake_primary_state(CUdevice device, unsigned *flags, int *active)
{
    const struct fake_device *d = fake_device(device);
    if (!d) return CUDA_ERROR_INVALID_DEVICE;
    *flags = 0;
    *active = d->primary != NULL;
    return CUDA_SUCCESS;
}

CUresult fake_mem_info(size_t *available, size_t *total)
{
    const struct fake_device *d = fake_current_device();
    if (!d) return CUDA_ERROR_INVALID_CONTEXT;
    *available = d->total - fake_used(d);
    *total = d->total;
    return CUDA_SUCCESS;
}

CUresult fake_run_kernel(size_t local)
{
    const CUcontext c = fake_current();
    if (!c) return CUDA_ERROR_INVALID_CONTEXT;
    if (local > c->stack_limit) c->stack_limit = local;
    const uint64_t needed = (uint64_t)(c->stack_limit - DEFAULT_STACK) * GPU_THREADS;
    if (c->stack_limit <= DEFAULT_STACK || needed <= c->stack) return CUDA_SUCCESS;
    struct fake_device *d = fake_device(c->device);
    fake_give(d, c->stack);
    if (!fake_take(d, needed)) {
        fake_take(d, c->stack);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    c->stack = needed;
    return CUDA_SUCCESS;
}

/* ---- green contexts: a separate context, and a token for the description ---- */

struct CUgreenCtx_st {
    struct CUctx_st *context;
};

CUresult fake_green_resource(CUdevice device, CUdevResource *resource, CUdevResourceType type)
{
    if (!fake_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    *resource = (CUdevResource){ .type = type, .sm.smCount = 132 };
    return CUDA_SUCCESS;
}

CUresult fake_green_describe(CUdevResourceDesc *out, CUdevResource *resources, unsigned count)
{
    if (!resources || !count) return CUDA_ERROR_INVALID_VALUE;
    static char token;
    *out = (CUdevResourceDesc)(void *)&token;
    return CUDA_SUCCESS;
}

CUresult fake_green_create(CUgreenCtx *out, CUdevice device)
{
    struct CUgreenCtx_st *green = calloc(1, sizeof *green);
    if (!green) abort();
    const CUresult result = make(&green->context, device, GREEN_BYTES);
    if (result) free(green);
    else *out = green;
    return result;
}

CUresult fake_green_destroy(CUgreenCtx green)
{
    end(green->context);
    free(green);
    return CUDA_SUCCESS;
}

CUresult fake_green_context(CUcontext *out, CUgreenCtx green)
{
    *out = green->context;
    return CUDA_SUCCESS;
}

CUresult fake_green_stream(CUstream *out, CUgreenCtx green)
{
    return fake_stream_create(out, green->context);
}
