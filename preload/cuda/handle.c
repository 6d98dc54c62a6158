/* Physical memory with handles (cuMemCreate), its mappings and reserved addresses.
 *
 * Replay counts references and mappings. This file only records the calls. */
#include <cupti.h>

#include "core/record.h"
#include "cuda/block.h"
#include "cuda/device.h"
#include "cuda/mempool.h"

static bool succeeded(const struct mp_call *call)
{
    return !call->enter && call->result == CUDA_SUCCESS;
}

static unsigned heap_at(const CUmemLocation *at)
{
    if (at->type != CU_MEM_LOCATION_TYPE_DEVICE || at->id < 0 || at->id >= MPF_GPUS)
        return MPF_HEAP_PINNED;
    mp_device_seen(at->id);
    return mpf_heap_gpu(MPF_HEAP_DEVICE, (unsigned)at->id);
}

/* A query whether the system has fabric handles does not mean that memory is exhausted. */
static bool probes(const struct mp_call *call, const CUmemAllocationProp *prop)
{
    return prop->requestedHandleTypes & CU_MEM_HANDLE_TYPE_FABRIC &&
           call->result != CUDA_ERROR_OUT_OF_MEMORY;
}

void mp_on_handle_create(const struct mp_call *call)
{
    const cuMemCreate_params *p = call->params;
    if (call->enter || !p->prop) return;
    const unsigned heap = heap_at(&p->prop->location);
    if (call->result != CUDA_SUCCESS) {
        mp_block_refused(call, heap, p->size, probes(call, p->prop));
        return;
    }
    mp_mempool_look(); /* called first, because the driver may have taken the memory from a pool */
    mp_device_context(call);
    mp_block_stack();
    mp_record(MPF_OP_HANDLE_NEW, heap, *p->handle, p->size);
    mp_device_measure();
}

void mp_on_handle_import(const struct mp_call *call)
{
    const cuMemImportFromShareableHandle_params *p = call->params;
    if (succeeded(call)) mp_record(MPF_OP_HANDLE_IMPORT, MPF_HEAP_NONE, *p->handle, 0);
}

/* A multicast object is only an address for other memory. */
void mp_on_handle_multicast(const struct mp_call *call)
{
    const cuMulticastCreate_params *p = call->params;
    if (succeeded(call)) mp_record(MPF_OP_HANDLE_IMPORT, MPF_HEAP_NONE, *p->mcHandle, 0);
}

void mp_on_handle_retain(const struct mp_call *call)
{
    const cuMemRetainAllocationHandle_params *p = call->params;
    if (!succeeded(call)) return;
    const uint64_t at = (uintptr_t)p->addr;
    mp_record_data(MPF_OP_HANDLE_RETAIN, MPF_HEAP_NONE, *p->handle, &at, sizeof at);
}

void mp_on_handle_release(const struct mp_call *call)
{
    const cuMemRelease_params *p = call->params;
    if (!succeeded(call)) return;
    mp_record(MPF_OP_HANDLE_DROP, MPF_HEAP_NONE, p->handle, 0);
    mp_device_measure();
}

void mp_on_handle_map(const struct mp_call *call)
{
    const cuMemMap_params *p = call->params;
    if (!succeeded(call)) return;
    const uint64_t v[] = { p->ptr, p->size, p->offset };
    mp_record_data(MPF_OP_HANDLE_MAP, MPF_HEAP_NONE, p->handle, v, sizeof v);
}

void mp_on_handle_unmap(const struct mp_call *call)
{
    const cuMemUnmap_params *p = call->params;
    if (!succeeded(call)) return;
    mp_record(MPF_OP_HANDLE_UNMAP, MPF_HEAP_NONE, p->ptr, p->size);
    mp_device_measure();
}

void mp_on_address_reserve(const struct mp_call *call)
{
    const cuMemAddressReserve_params *p = call->params;
    if (succeeded(call)) mp_record(MPF_OP_ADDRESS_RESERVE, MPF_HEAP_NONE, *p->ptr, p->size);
}

void mp_on_address_free(const struct mp_call *call)
{
    const cuMemAddressFree_params *p = call->params;
    if (succeeded(call)) mp_record(MPF_OP_ADDRESS_FREE, MPF_HEAP_NONE, p->ptr, p->size);
}
