"""Recorded as h200-autograd.zst, under the name run_nodes.py: autograd's sequence numbers on three threads, in parts of a
forward pass and in a checkpoint.

autograd.py FILE writes autograd's own numbers to FILE."""
import json
import sys
import threading

import torch
from torch.utils.checkpoint import checkpoint


def nodes_of(root):
    seen, todo = {}, [root]
    while todo:
        fn = todo.pop()
        if fn is None or fn in seen:
            continue
        seen[fn] = True
        todo.extend(next_fn for next_fn, _ in fn.next_functions)
    return [(fn.name(), fn._sequence_nr()) for fn in seen if "AccumulateGrad" not in fn.name() and hasattr(fn, "_sequence_nr")]


def peek(expected):
    get = getattr(torch._C._autograd, "_get_sequence_nr", None)
    if get:
        n = get()
        expected["peeks"].append(n)
        with torch.cuda.nvtx.range(f"peek={n}"):
            pass


def step(model, expected):
    x = torch.randn(512, 1024, device="cuda", requires_grad=True)
    with torch.cuda.nvtx.range("forward"):
        peek(expected)
        with torch.cuda.nvtx.range("first half"):
            y = model[:2](x)
        peek(expected)
        with torch.cuda.nvtx.range("second half"):
            y = model[2:](y)
        peek(expected)
        y = checkpoint(torch.nn.functional.gelu, y, use_reentrant=True)
        loss = y.square().mean()
    expected["nodes"] += nodes_of(loss.grad_fn)
    with torch.cuda.nvtx.range("backward"):
        loss.backward()


def main():
    expected = {"torch": torch.__version__, "nodes": [], "peeks": []}
    torch.manual_seed(0)
    model = torch.nn.Sequential(*[m for _ in range(4) for m in (torch.nn.Linear(1024, 1024), torch.nn.ReLU())]).cuda()
    for _ in range(2):
        step(model, expected)
    other = threading.Thread(target=step, args=(model, expected))
    other.start()
    other.join()
    torch.cuda.synchronize()
    with open(sys.argv[1], "w") as f:
        json.dump(expected, f)


main()
