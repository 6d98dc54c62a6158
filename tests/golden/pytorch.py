"""Recorded as h200-pytorch.zst: a small training run with ranges, two CUDA graphs, and a request that is too large for
any device."""
import torch


def main():
    model = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(4)]).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(3):
        with torch.cuda.nvtx.range("step"):
            with torch.cuda.nvtx.range("forward"):
                y = model(torch.randn(512, 1024, device="cuda")).square().mean()
            with torch.cuda.nvtx.range("backward"):
                y.backward()
            optimizer.step()
            optimizer.zero_grad()
    graphs = []
    for batch in (256, 64):
        x = torch.randn(batch, 1024, device="cuda")
        model(x)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.nvtx.range(f"capture {batch}"), torch.cuda.graph(graph):
            y = model(x)
        graph.replay()
        graphs.append((graph, x, y))
    try:
        with torch.cuda.nvtx.range("too large"):
            torch.empty(400 << 30, dtype=torch.uint8, device="cuda")
    except torch.OutOfMemoryError:
        pass
    torch.cuda.synchronize()
    stats = torch.cuda.memory_stats()
    print(stats["allocated_bytes.all.peak"], stats["reserved_bytes.all.peak"])


main()
