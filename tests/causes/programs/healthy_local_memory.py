# cause: none
# source: a healthy program; nearly: local_memory
import json
import cupy

# 1 KiB of local memory a thread: 132 multiprocessors reserve some 260 MiB, which is little for this GPU.
kernel = cupy.RawKernel(r"""
extern "C" __global__ void count(const int *values, int *out)
{
    int bins[256];
    for (int i = 0; i < 256; i++) bins[i] = 0;
    for (int i = 0; i < 4096; i++) bins[values[i] & 255]++;
    out[threadIdx.x] = bins[threadIdx.x & 255];
}
""", "count")
values, out = cupy.arange(4096, dtype=cupy.int32), cupy.zeros(256, dtype=cupy.int32)
table = cupy.zeros(8 << 30, dtype=cupy.uint8)
for _ in range(20):
    kernel((64,), (256,), (values, out))
print(json.dumps({"bytes": [], "sum": int(out.sum()) + int(table[7])}))
