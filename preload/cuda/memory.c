/* Blocks of device, managed and host memory, and arrays. */
#include <cupti.h>

#include "cuda/block.h"

/* ---- linear memory */

void mp_on_mem_alloc(const struct mp_call *call)
{
    const cuMemAlloc_v2_params *p = call->params;
    mp_block_made(call, MPF_HEAP_DEVICE, p->dptr, p->bytesize);
}

void mp_on_mem_alloc_pitch(const struct mp_call *call)
{
    const cuMemAllocPitch_v2_params *p = call->params;
    const bool known = !call->enter && call->result == CUDA_SUCCESS;
    mp_block_made(call, MPF_HEAP_DEVICE, p->dptr,
                  (known ? *p->pPitch : p->WidthInBytes) * p->Height);
}

void mp_on_mem_alloc_managed(const struct mp_call *call)
{
    const cuMemAllocManaged_params *p = call->params;
    mp_block_made(call, MPF_HEAP_MANAGED, p->dptr, p->bytesize);
}

void mp_on_mem_free(const struct mp_call *call)
{
    const cuMemFree_v2_params *p = call->params;
    mp_block_freed(call, MPF_HEAP_DEVICE, p->dptr);
}

/* ---- arrays: the handle is used as the address; the bytes are those of the elements */

static size_t channel_bytes(CUarray_format format)
{
    switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF: return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT: return 4;
    default: return 1;
    }
}

static size_t at_least_one(size_t n) { return n ? n : 1; }

static size_t array_bytes(const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned level)
{
    return at_least_one(d->Width >> level) * at_least_one(d->Height >> level) *
           at_least_one(d->Depth >> level) * at_least_one(d->NumChannels) *
           channel_bytes(d->Format);
}

/* Sparse and deferred arrays get their memory later through cuMemCreate. */
static bool has_memory(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    return !(d->Flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING));
}

void mp_on_array_create(const struct mp_call *call)
{
    const cuArrayCreate_v2_params *p = call->params;
    if (!p->pAllocateArray) return;
    const CUDA_ARRAY_DESCRIPTOR *d = p->pAllocateArray;
    const CUDA_ARRAY3D_DESCRIPTOR whole = {
        .Width = d->Width, .Height = d->Height, .Format = d->Format, .NumChannels = d->NumChannels
    };
    mp_block_made(call, MPF_HEAP_DEVICE, p->pHandle, array_bytes(&whole, 0));
}

void mp_on_array_3d_create(const struct mp_call *call)
{
    const cuArray3DCreate_v2_params *p = call->params;
    if (!p->pAllocateArray || !has_memory(p->pAllocateArray)) return;
    mp_block_made(call, MPF_HEAP_DEVICE, p->pHandle, array_bytes(p->pAllocateArray, 0));
}

void mp_on_array_destroy(const struct mp_call *call)
{
    const cuArrayDestroy_params *p = call->params;
    mp_block_freed(call, MPF_HEAP_DEVICE, (uintptr_t)p->hArray);
}

void mp_on_mipmap_create(const struct mp_call *call)
{
    const cuMipmappedArrayCreate_params *p = call->params;
    const CUDA_ARRAY3D_DESCRIPTOR *d = p->pMipmappedArrayDesc;
    if (!d || !has_memory(d)) return;
    size_t bytes = 0;
    for (unsigned level = 0; level < p->numMipmapLevels && level < 64; level++)
        bytes += array_bytes(d, level);
    mp_block_made(call, MPF_HEAP_DEVICE, p->pHandle, bytes);
}

void mp_on_mipmap_destroy(const struct mp_call *call)
{
    const cuMipmappedArrayDestroy_params *p = call->params;
    mp_block_freed(call, MPF_HEAP_DEVICE, (uintptr_t)p->hMipmappedArray);
}

/* ---- page-locked host memory */

/* The size in the first version has 32 bits. */
void mp_on_host_alloc_old(const struct mp_call *call)
{
    const cuMemAllocHost_params *p = call->params;
    mp_block_made(call, MPF_HEAP_PINNED, p->pp, p->bytesize);
}

/* cuMemHostAlloc has the same first fields. */
void mp_on_host_alloc(const struct mp_call *call)
{
    const cuMemAllocHost_v2_params *p = call->params;
    mp_block_made(call, MPF_HEAP_PINNED, p->pp, p->bytesize);
}

void mp_on_host_register(const struct mp_call *call)
{
    const cuMemHostRegister_v2_params *p = call->params;
    mp_block_made(call, MPF_HEAP_PINNED, &p->p, p->bytesize);
}

/* cuMemFreeHost and cuMemHostUnregister */
void mp_on_host_free(const struct mp_call *call)
{
    const cuMemFreeHost_params *p = call->params;
    mp_block_freed(call, MPF_HEAP_PINNED, (uintptr_t)p->p);
}
