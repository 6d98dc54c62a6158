// Launches a kernel whose threads have local arrays of 12,000 bytes. Recorded as h200-local-memory.zst:
// nvcc -arch=sm_90 -o lmem local_memory.cu && memprof run --host=off -o logs -- ./lmem
#include <cstdio>
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>
#include <unistd.h>

__global__ void plain(int *out) { out[threadIdx.x] = threadIdx.x; }

__global__ void spill(int *out, int n)
{
    int array[3000], sum = 0;
    for (int i = 0; i < n; i++) array[(i * 7919) % 3000] = i * out[i % 64];
    for (int i = 0; i < 3000; i += 37) sum += array[(i * 31 + out[0]) % 3000];
    out[threadIdx.x] = sum;
}

static size_t used()
{
    size_t available, total;
    cudaMemGetInfo(&available, &total);
    return total - available;
}

int main()
{
    int *out;
    cudaMalloc(&out, 4096 * 4);
    cudaMemset(out, 0, 4096 * 4);
    nvtxRangePushA("warm up");
    plain<<<1, 64>>>(out);
    cudaDeviceSynchronize();
    nvtxRangePop();
    const size_t before = used();
    sleep(1);
    nvtxRangePushA("first batch");
    spill<<<1, 64>>>(out, 3000);
    cudaDeviceSynchronize();
    nvtxRangePop();
    const size_t after = used();
    sleep(2);
    void *block;
    cudaMalloc(&block, 1 << 20);
    cudaFree(block);
    printf("used bytes grew by %zu\n", after - before);
    return 0;
}
