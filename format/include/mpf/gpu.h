/* The numbers in events of device memory.  Bytes are bytes, times ns; a value that is not known is
 * MPF_UNKNOWN (mpf/sample.h). Arrays are u64; new values are added at the end only: a reader takes
 * the values that it knows. */
#ifndef MPF_GPU_H
#define MPF_GPU_H

/* Driver calls that move device memory which no allocation names. */
enum mpf_gpu_call {
    /* A context made or retained; with what CUPTI takes in it, inside the same call: it was
     * subscribed before. */
    MPF_CALL_CONTEXT = 1,
    /* Destroyed, released or reset: `a` is the context, and what it held is gone. */
    MPF_CALL_CONTEXT_GONE,
    MPF_CALL_LIMIT,  /* cuCtxSetLimit: `a` is the limit's number, `b` its value */
    MPF_CALL_MODULE, /* module or library loaded */
    MPF_CALL_MODULE_GONE,
    MPF_CALL_STREAM, /* stream made */
    /* Graph instantiated: `a` is the exec's handle, `b` the graph's, `c` its nodes. */
    MPF_CALL_GRAPH,
    MPF_CALL_GRAPH_UPDATE, /* exec updated: `a` */
    MPF_CALL_GRAPH_UPLOAD, /* exec uploaded: `a` */
    MPF_CALL_GRAPH_LAUNCH, /* first launch of an exec: `a` */
    MPF_CALL_GRAPH_GONE,   /* exec destroyed: `a` */
    MPF_CALL_GRAPH_TRIM,   /* cuDeviceGraphMemTrim */
    MPF_CALL_POOL,         /* stream-ordered pool made, trimmed or destroyed: `a` */
    /* A kernel's first launch: `a` is the growth of local memory in it (int64, bytes; since
     * 1.11, 0 before). */
    MPF_CALL_LAUNCH,
    /* Since 1.11: no call and no GPU_ENTER, but local memory of kernels that earlier launches of
     * the thread's context made grow: `a` (int64, bytes). */
    MPF_CALL_LOCAL,
    MPF_CALLS
};

enum mpf_gpu_return {
    MPF_RETURN_CALL,
    MPF_RETURN_RESULT,
    MPF_RETURN_A,
    MPF_RETURN_B,
    MPF_RETURN_C,
    MPF_RETURN_COUNT
};

enum mpf_gpu_fail {
    MPF_FAIL_RESULT, /* CUresult; 2 is out of memory */
    MPF_FAIL_FREE,
    MPF_FAIL_TOTAL,
    MPF_FAIL_CAPTURING, /* 1: the stream or thread was capturing a graph */
    /* 1: an unsupported handle type was requested, so memory is not exhausted */
    MPF_FAIL_PROBE,
    MPF_FAIL_COUNT
};

enum mpf_sample_gpu {
    MPF_GPU_USED,     /* by everybody, without what the driver reserves for itself */
    MPF_GPU_TOTAL,    /* used and free */
    MPF_GPU_OWN,      /* by this process */
    MPF_GPU_RESERVED, /* by the driver */
    /* since 1.8: by the host's file cache, if the device's memory is a NUMA node of the host;
     * part of used */
    MPF_GPU_FILE_CACHE,
    MPF_GPU_COUNT
};

enum mpf_torch_oom {
    MPF_TORCH_ALLOCATED,
    MPF_TORCH_RESERVED,
    MPF_TORCH_FREE,
    MPF_TORCH_TOTAL,
    MPF_TORCH_COUNT
};

/* Keys of GPU_DEVICE's pairs: uuid (GPU-... or MIG-...), name, total (bytes), pci, driver (CUDA
 * version of the driver, as 13000), cupti (its API version), cupti.path, cupti.off (why gpuN/device
 * is missing), cupti.refused (a callback that the library does not know, repeated), used (nvml or
 * cuda: where used bytes come from), used.off (why used bytes are not sampled). */

#endif
