"""Recorded as h100-cupy.zst, and as h100-cupy-async.zst with an argument, by: memprof run --host=off -- python3
cupyrun.py"""
import sys

import cupy as cp

if len(sys.argv) > 1:
    cp.cuda.set_allocator(cp.cuda.MemoryAsyncPool().malloc)
a = cp.random.rand(8192, 8192)
keep = []
for i in range(20):
    cp.cuda.nvtx.RangePush("iteration %d" % i)
    b = a @ a
    c = cp.fft.fft(b[:1024])
    keep.append(b[:256].copy())
    d = cp.sort(b, axis=1)
    cp.cuda.nvtx.RangePop()
cp.cuda.Device().synchronize()
pool = cp.get_default_memory_pool()
print("pool", pool.used_bytes(), pool.total_bytes())
