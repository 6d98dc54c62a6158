/* Streams that record a graph instead of running. */
#include "fake.h"

static CUstream capturing;
static _Thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
/* Captures begun by this thread, except relaxed ones. */
static _Thread_local unsigned thread_captures;

static bool forbids(const struct CUstream_st *stream)
{
    const CUstreamCaptureMode mode = stream->mode;
    if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED || mode == CU_STREAM_CAPTURE_MODE_RELAXED)
        return false;
    return thread_captures ||
           (thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL && mode == CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult fake_capture_unsafe(void)
{
    CUresult result = CUDA_SUCCESS;
    for (CUstream stream = capturing; stream; stream = stream->next_capture) {
        if (!forbids(stream)) continue;
        stream->invalid = true;
        result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return result;
}

CUresult fake_capture_begin(CUstream stream, CUgraph graph, CUstreamCaptureMode mode)
{
    if (!stream) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (stream->capture) return CUDA_ERROR_ILLEGAL_STATE;
    stream->to_graph = graph != NULL;
    if (!graph) fake_graph_create(&graph);
    stream->capture = graph;
    stream->mode = mode;
    stream->invalid = false;
    stream->next_capture = capturing;
    capturing = stream;
    thread_captures += mode != CU_STREAM_CAPTURE_MODE_RELAXED;
    return CUDA_SUCCESS;
}

static void stop(CUstream stream)
{
    CUstream *at = &capturing;
    while (*at != stream) at = &(*at)->next_capture;
    *at = stream->next_capture;
    thread_captures -= stream->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
    stream->capture = NULL;
}

CUresult fake_capture_end(CUstream stream, CUgraph *out)
{
    if (!stream || !stream->capture) return CUDA_ERROR_ILLEGAL_STATE;
    const CUgraph graph = stream->capture;
    stop(stream);
    *out = stream->invalid ? NULL : graph;
    if (!stream->invalid) return CUDA_SUCCESS;
    if (!stream->to_graph) fake_graph_destroy(graph);
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
}

CUresult fake_capture_status(CUstream stream, CUstreamCaptureStatus *out)
{
    *out = !stream || !stream->capture ? CU_STREAM_CAPTURE_STATUS_NONE
           : stream->invalid           ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                       : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return CUDA_SUCCESS;
}

CUresult fake_capture_info(CUstream stream, CUstreamCaptureStatus *out, cuuint64_t *id,
                           CUgraph *graph)
{
    const CUgraph captured = stream ? stream->capture : NULL;
    if (id && captured) *id = captured->id;
    if (graph) *graph = captured;
    return fake_capture_status(stream, out);
}

CUresult fake_capture_exchange_mode(CUstreamCaptureMode *mode)
{
    const CUstreamCaptureMode old = thread_mode;
    thread_mode = *mode;
    *mode = old;
    return CUDA_SUCCESS;
}

CUresult fake_launch(CUfunction function, CUstream stream)
{
    if (stream && stream->capture)
        return fake_graph_add(NULL, stream->capture, CU_GRAPH_NODE_TYPE_KERNEL);
    return fake_run_kernel(fake_function_local_bytes(function));
}
