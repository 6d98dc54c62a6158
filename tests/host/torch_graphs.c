/* A stand-in for libtorch_cuda.so: at::cuda::CUDAGraph, whose object is an array of numbers here.
 * With PARTS capture_end calls capture_end_pre, as PyTorch does since 2.14. */
#include <stdint.h>

enum { POOL_A, POOL_B, CALLS };
struct pool_id {
    uint64_t a, b;
};

void _ZN2at4cuda9CUDAGraph13capture_beginESt4pairIyyE21cudaStreamCaptureMode(uint64_t *graph,
                                                                             struct pool_id pool,
                                                                             int mode);
void _ZN2at4cuda9CUDAGraph11capture_endEv(uint64_t *graph);
void _ZN2at4cuda9CUDAGraph15capture_end_preEv(uint64_t *graph);
void _ZN2at4cuda9CUDAGraph5resetEv(uint64_t *graph);
struct pool_id _ZN2at4cuda9CUDAGraph4poolEv(uint64_t *graph);

void _ZN2at4cuda9CUDAGraph13capture_beginESt4pairIyyE21cudaStreamCaptureMode(uint64_t *graph,
                                                                             struct pool_id pool,
                                                                             int mode)
{
    graph[POOL_A] = pool.a;
    graph[POOL_B] = pool.b + (uint64_t)mode;
    graph[CALLS]++;
}

#ifdef PARTS
void _ZN2at4cuda9CUDAGraph15capture_end_preEv(uint64_t *graph) { graph[CALLS] += 10; }
void _ZN2at4cuda9CUDAGraph11capture_endEv(uint64_t *graph)
{
    _ZN2at4cuda9CUDAGraph15capture_end_preEv(graph);
}
#else
void _ZN2at4cuda9CUDAGraph11capture_endEv(uint64_t *graph) { graph[CALLS] += 10; }
#endif

void _ZN2at4cuda9CUDAGraph5resetEv(uint64_t *graph) { graph[CALLS] += 100; }
struct pool_id _ZN2at4cuda9CUDAGraph4poolEv(uint64_t *graph)
{
    return (struct pool_id){ graph[POOL_A], graph[POOL_B] };
}
