#include "cuda/capture.h"

#include <cupti.h>

#include "core/record.h"
#include "cuda/call.h"
#include "cuda/driver.h"
#include "mpf/event.h"

static int32_t under_way;

bool mp_capture_under_way(void) { return __atomic_load_n(&under_way, __ATOMIC_RELAXED) > 0; }

/* The legacy stream (0) cannot be captured, and querying it while another stream captures is an
 * error. */
bool mp_capture_on(CUstream stream)
{
    CUstreamCaptureStatus status;
    if (!mp_capture_under_way() || !stream) return false;
    return MP_DRIVER_ASK(cuStreamIsCapturing, stream, &status) &&
           status != CU_STREAM_CAPTURE_STATUS_NONE;
}

/* The stream is the first parameter in all forms of the call. */
void mp_on_capture_begin(const struct mp_call *call)
{
    const cuStreamBeginCapture_v2_params *p = call->params;
    if (call->enter || call->result != CUDA_SUCCESS) return;
    __atomic_fetch_add(&under_way, 1, __ATOMIC_RELAXED);
    mp_record(MPF_OP_CAPTURE_BEGIN, MPF_HEAP_NONE, (uintptr_t)p->hStream, 0);
}

/* The end of an invalidated capture returns an error. */
void mp_on_capture_end(const struct mp_call *call)
{
    const cuStreamEndCapture_params *p = call->params;
    const bool ended = call->result == CUDA_SUCCESS ||
                       call->result == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED ||
                       call->result == CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    if (call->enter || !ended) return;
    __atomic_fetch_sub(&under_way, 1, __ATOMIC_RELAXED);
    mp_record(MPF_OP_CAPTURE_END, MPF_HEAP_NONE, (uintptr_t)p->hStream, 0);
}
