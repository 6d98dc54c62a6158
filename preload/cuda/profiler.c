/* cudaProfilerStart and cudaProfilerStop, with which training frameworks choose the steps that a
 * profiler records. */
#include "core/window.h"
#include "cuda/call.h"

void mp_on_profiler_start(const struct mp_call *call)
{
    if (!call->enter && call->result == CUDA_SUCCESS) mp_window_profiler(true);
}

void mp_on_profiler_stop(const struct mp_call *call)
{
    if (call->enter) mp_window_profiler(false);
}
