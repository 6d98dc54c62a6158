# cause: fragmentation
# owner: convert|load_layer|load_model
# change: expandable|fragment|CPU|host|before|order|PYTORCH_(CUDA_)?ALLOC|segment|load
# source: weights are converted layer by layer on the GPU; each small result lies in the middle of its layer's scratch memory, and a long request fails
import json
import time

import torch

MIB, LAYERS, LIMIT = 2**20, 24, 16 * 2**30
COLUMNS = 2**20  # 4 MiB of float32 in a row


def measure(rows):
    shard = torch.zeros(rows, COLUMNS, device="cuda")
    return shard[0, :1024].amax().item() + 1.0


def convert(rows, scale):
    scratch = torch.zeros(rows, COLUMNS, device="cuda")
    scratch.mul_(scale)
    weight = torch.empty(25, COLUMNS, device="cuda")
    weight.copy_(scratch[:25])
    return weight


def load_layer(number):
    scale = measure(128 + number)
    return convert(100 + number, scale)


def load_model():
    return [load_layer(number) for number in range(LAYERS)]


def serve(weights, rows):
    hidden = torch.zeros(rows, COLUMNS, device="cuda")
    for weight in weights:
        hidden[:25].add_(weight)
    return hidden[0, 0].item()


torch.cuda.set_per_process_memory_fraction(LIMIT / torch.cuda.get_device_properties(0).total_memory)
with torch.inference_mode():
    weights = load_model()
    try:
        for request in range(15):
            serve(weights, 50)
            time.sleep(0.15)
        serve(weights, 1024)
    except torch.cuda.OutOfMemoryError:
        # Of a layer's 4 * (128 + n) MiB only 100 MiB are in use.
        print(json.dumps({"bytes": [sum(4 * (128 + number) - 100 for number in range(LAYERS)) * MIB]}), flush=True)
        raise
