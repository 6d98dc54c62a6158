"""PyTorch's own numbers of its memory by role at an instant: bytes of storages, and of the allocator's blocks that contain them.

The other programs of this folder use it: with ROLES_OUT=FILE they write these numbers to FILE.json."""
import json
import os

import torch

RESULT = {}


def blocks(device):
    found = {}
    for segment in torch.cuda.memory_snapshot():
        if segment["device"] != device:
            continue
        for b in segment["blocks"]:
            if b["state"].startswith("active"):
                found[b["address"]] = b["size"]
    return found


def local(t):
    while hasattr(t, "_local_tensor"):
        t = t._local_tensor
    return t


def tensors_in(x, depth=0):
    if isinstance(x, torch.Tensor):
        yield local(x)
    elif isinstance(x, dict) and depth < 6:
        for v in x.values():
            yield from tensors_in(v, depth + 1)
    elif isinstance(x, (list, tuple)) and depth < 6:
        for v in x:
            yield from tensors_in(v, depth + 1)


def saved(root):
    """Returns the tensors that autograd's graph keeps for the backward pass."""
    seen, todo = set(), [root]
    while todo:
        fn = todo.pop()
        if fn is None or fn in seen:
            continue
        seen.add(fn)
        todo.extend(n for n, _ in fn.next_functions)
        for name in dir(fn):
            if name.startswith("_saved_"):
                try:
                    yield from tensors_in(getattr(fn, name))
                except Exception:
                    pass
        try:
            yield from tensors_in(getattr(fn, "saved_tensors", ()))
        except Exception:
            pass


def record_roles(name, roles):
    """Counts bytes by role. roles: name to tensors, in order. A storage counts for the first role that lists it."""
    device = torch.cuda.current_device()
    torch.cuda.synchronize()
    with torch.cuda.nvtx.range("told." + name):      # test_golden.py looks for these ranges
        live, out, used = blocks(device), {}, set()
        for role, things in roles.items():
            row = dict(storages=0, bytes=0, blocks=0, missing=0)
            for t in tensors_in(list(things)):
                if not t.is_cuda or t.untyped_storage().nbytes() == 0:
                    continue
                p = t.untyped_storage().data_ptr()
                if p in used:
                    continue
                used.add(p)
                n = t.untyped_storage().nbytes()
                row["storages"] += 1
                row["bytes"] += n
                if p in live:
                    row["blocks"] += live[p]
                else:
                    row["missing"] += 1
            out[role] = row
        s = torch.cuda.memory_stats()
        out["all"] = dict(current=s["allocated_bytes.all.current"], peak=s["allocated_bytes.all.peak"],
                          others=sum(size for address, size in live.items() if address not in used))
        RESULT[name] = out


def base(model, optimizer=None):
    params = list(model.parameters())
    roles = dict(parameters=params, buffers=list(model.buffers()), gradients=[p.grad for p in params if p.grad is not None])
    if optimizer is not None:
        roles["optimizer"] = [dict(v) for v in optimizer.state.values()]
    return roles


def done(**more):
    s = torch.cuda.memory_stats()
    rank = os.environ.get("RANK", "0")
    RESULT["end"] = dict(allocated_peak=s["allocated_bytes.all.peak"], reserved_peak=s["reserved_bytes.all.peak"],
                       torch=torch.__version__, device=torch.cuda.get_device_name(), **more)
    path = os.environ.get("ROLES_OUT", "/tmp/roles") + (f".{rank}" if rank != "0" else "") + ".json"
    with open(path, "w") as f:
        json.dump(RESULT, f, indent=1)
