"""Recorded as h100-fragments.zst: a rope cache allocated between temporary buffers keeps 599 segments in use, so that a
later prompt runs out of memory."""
import torch
nvtx = torch.cuda.nvtx
MIB = 1 << 20
def take(n): return torch.empty(n, dtype=torch.uint8, device="cuda")
def serve():
    total = torch.cuda.get_device_properties(0).total_memory
    nvtx.range_push("load weights"); weights = [take(64 * MIB) for _ in range(int(total * 0.75) // (64 * MIB))]; nvtx.range_pop()
    rope, rest = [], []
    nvtx.range_push("preprocess")
    for i in range(599):
        rest += [take(9 * MIB), take(9 * MIB)]
        nvtx.range_push("rope cache"); rope.append(take(2 * MIB)); nvtx.range_pop()
    rest.clear()
    nvtx.range_pop()
    nvtx.range_push("prefill")
    free = torch.cuda.mem_get_info()[0]
    try:
        logits = take(free + 4096 * MIB)
    finally:
        nvtx.range_pop()
        s = torch.cuda.memory_stats()
        print("allocated, reserved, free in split blocks:", s["allocated_bytes.all.current"], s["reserved_bytes.all.current"], s["inactive_split_bytes.all.current"], flush=True)
serve()
