# cause: other_pool
# owner: [Cc]u[Pp]y|window_signal|prepare|pool
# change: free_all_blocks|pool|allocator|limit|shar|set_limit
# source: signals are windowed once with CuPy before a network in PyTorch reads them; CuPy's pool keeps the memory of the freed arrays
import json
import sys
import time

import torch

try:
    import cupy
except ImportError:
    print(json.dumps({"bytes": []}))
    sys.exit(0)

SAMPLES, WINDOW = 805_306_368, 4096  # 3 GiB of float32


def window_signal(samples):
    signal = cupy.full(samples, 0.5, dtype=cupy.float32)
    taper = cupy.hanning(WINDOW).astype(cupy.float32)
    windowed = signal.reshape(-1, WINDOW) * taper
    return windowed[::96].copy()


def prepare():
    few = window_signal(SAMPLES)
    return torch.from_dlpack(few).clone()


def classify(weights, features):
    hidden = features
    for weight in weights:
        hidden = torch.tanh(hidden @ weight)
    return hidden.mean().item()


with torch.inference_mode():
    features = prepare()
    cupy.cuda.runtime.deviceSynchronize()
    weights = [torch.randn(WINDOW, WINDOW, device="cuda") * 0.01 for _ in range(12)]
    for request in range(40):
        classify(weights, features)
        time.sleep(0.08)
print(json.dumps({"bytes": [2 * SAMPLES * 4, 2 * SAMPLES * 4 + SAMPLES * 4 // 96]}))
