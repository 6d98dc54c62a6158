#include "cuda/block.h"

#include "core/encoder.h"
#include "core/record.h"
#include "cuda/capture.h"
#include "cuda/device.h"
#include "cuda/local_memory.h"
#include "cuda/mempool.h"
#include "cuda/sampler.h"
#include "mpf/gpu.h"
#include "mpf/sample.h"
#include "python/python.h"
#include "stacks/stack.h"

void mp_block_stack(void)
{
    const struct mp_frame from = mp_frame_of_caller();
    const uint64_t stack = mp_stack_here(&from);
    if (stack) mp_record(MPF_OP_AT, MPF_HEAP_NONE, stack, 0);
    mp_python_at();
}

void mp_block_refused(const struct mp_call *call, unsigned heap, size_t bytes, bool probe)
{
    /* A thread's first call has no context yet. CUDA's runtime then creates one and calls again. */
    const bool early =
        call->result == CUDA_ERROR_INVALID_CONTEXT || call->result == CUDA_ERROR_NOT_INITIALIZED;
    if (call->result == CUDA_ERROR_OUT_OF_MEMORY && !probe) {
        mp_mempool_look();
        mp_local_memory_look(call->context);
        if (mpf_heap_is_gpu(heap)) mp_sampler_now((int)mpf_heap_device(heap));
    }
    uint64_t v[MPF_FAIL_COUNT] = { [MPF_FAIL_RESULT] = call->result,
                                   [MPF_FAIL_CAPTURING] = mp_capture_under_way(),
                                   [MPF_FAIL_PROBE] = probe || early };
    mp_device_info(&v[MPF_FAIL_FREE], &v[MPF_FAIL_TOTAL]);
    mp_block_stack();
    mp_record_data(MPF_OP_GPU_FAIL, heap, bytes, v, sizeof v);
    if (call->result == CUDA_ERROR_OUT_OF_MEMORY) mp_encoder_wake();
}

/* Returns the heap byte of an event of the thread's current device. */
static unsigned heap_here(enum mpf_heap heap)
{
    const CUdevice device = mp_device_current();
    return mpf_heap_is_gpu(heap) ? mpf_heap_gpu(heap, device < 0 ? 0 : (unsigned)device) : heap;
}

void mp_block_made(const struct mp_call *call, enum mpf_heap heap, const void *at, size_t bytes)
{
    if (call->enter) return;
    const unsigned here = heap_here(heap);
    if (call->result != CUDA_SUCCESS) {
        mp_block_refused(call, here, bytes, false);
        return;
    }
    mp_mempool_look(); /* called first, because the driver may have taken the memory from a pool */
    mp_local_memory_look(call->context);
    mp_device_context(call);
    mp_block_stack();
    mp_record(MPF_OP_ALLOC, here, *(const uint64_t *)at, bytes);
    if (mpf_heap_is_gpu(heap)) mp_device_measure();
}

/* The block counts until the driver has freed it. Its address may be reused before this thread
 * records the end. */
void mp_block_freed(const struct mp_call *call, enum mpf_heap heap, uint64_t at)
{
    if (!at) return;
    if (call->enter) mp_record(MPF_OP_MOVE_BEGIN, heap, at, 0);
    else if (call->result != CUDA_SUCCESS) mp_record_fail(heap, (int)call->result, 0);
    else {
        mp_record(MPF_OP_MOVE_END, heap, 0, 0);
        if (mpf_heap_is_gpu(heap)) mp_device_measure();
    }
}
