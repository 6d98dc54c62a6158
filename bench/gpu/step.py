"""Runs training steps of a model in one process and prints their times.

  step.py launch|compute [--with history|profiler] [--steps N]

launch: GPT-2 small, batch 1 x 64, eager. The GPU waits for the program, so every ns on the host is measured.
compute: a transformer whose kernels keep the GPU busy. Prints one line of JSON."""
import argparse
import contextlib
import json
import resource
import statistics
import time

import torch

arguments = argparse.ArgumentParser()
arguments.add_argument("kind", choices=("launch", "compute"))
arguments.add_argument("--with", dest="tool", choices=("history", "profiler"))
arguments.add_argument("--steps", type=int)
arguments = arguments.parse_args()
LAUNCH = arguments.kind == "launch"
WIDTH, HEADS, LAYERS, BATCH, LENGTH = (768, 12, 12, 1, 64) if LAUNCH else (2048, 16, 8, 8, 1024)
STEPS = arguments.steps or (60 if LAUNCH else 30)
VOCABULARY = 50304


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = torch.nn.LayerNorm(WIDTH), torch.nn.LayerNorm(WIDTH)
        self.qkv, self.out = torch.nn.Linear(WIDTH, 3 * WIDTH), torch.nn.Linear(WIDTH, WIDTH)
        self.up, self.down = torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = (t.view(batch, length, HEADS, -1).transpose(1, 2) for t in self.qkv(self.norm1(x)).chunk(3, dim=-1))
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm2(x))))


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.places = torch.nn.Embedding(VOCABULARY, WIDTH), torch.nn.Embedding(LENGTH, WIDTH)
        self.blocks = torch.nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.head = torch.nn.LayerNorm(WIDTH), torch.nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.places.weight
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


model = Model().cuda()
if not LAUNCH:
    model = model.bfloat16()
optimizer = torch.optim.AdamW(model.parameters())
tokens = torch.randint(VOCABULARY, (BATCH, LENGTH + 1), device="cuda")


def step():
    logits = model(tokens[:, :-1])
    torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten()).backward()
    optimizer.step()
    optimizer.zero_grad()


def cpu():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


for _ in range(10):
    step()
torch.cuda.synchronize()
if arguments.tool == "history":
    torch.cuda.memory._record_memory_history()
tool = torch.profiler.profile(profile_memory=True) if arguments.tool == "profiler" else contextlib.nullcontext()
with tool:
    before, times = cpu(), []
    for _ in range(STEPS):
        start = time.perf_counter()
        step()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    used = cpu() - before
peak = torch.cuda.memory_stats()
print(json.dumps({"ms": 1000 * statistics.median(times), "cpu_ms": 1000 * used / STEPS,
                  "allocated": peak["allocated_bytes.all.peak"], "reserved": peak["reserved_bytes.all.peak"]}))
