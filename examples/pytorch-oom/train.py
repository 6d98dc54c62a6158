"""A small transformer that trains until a long sequence makes its logits too large for the GPU.

This is a common case: steps of 512 tokens fit, and then a batch of long sequences comes. The device is filled up to
--room GiB first, so that it fails on any GPU. --nvtx names the parts of a step, instead of PyTorch's own ranges.
"""
import argparse
import contextlib
import torch

arguments = argparse.ArgumentParser()
arguments.add_argument("--room", type=float, default=16, help="GiB that are left for the training")
arguments.add_argument("--steps", type=int, default=12)
arguments.add_argument("--longest", type=int, default=16384, help="tokens in the last steps")
arguments.add_argument("--nvtx", action="store_true")
arguments = arguments.parse_args()

VOCABULARY, WIDTH, LAYERS, BATCH = 50304, 768, 12, 4


def named(name):
    return torch.cuda.nvtx.range(name) if arguments.nvtx else contextlib.nullcontext()


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(WIDTH)
        self.attention = torch.nn.MultiheadAttention(WIDTH, 12, batch_first=True)
        self.mlp = torch.nn.Sequential(torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.GELU(), torch.nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        y = self.norm(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.mlp(self.norm(x))


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = torch.nn.ModuleList(Block() for _ in range(LAYERS))
        self.head = torch.nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens):
        x = self.embedding(tokens)
        for number, block in enumerate(self.blocks):
            with named(f"layer {number}"):
                x = block(x)
        with named("head"):
            return self.head(x)


def step(model, optimizer, length):
    tokens = torch.randint(VOCABULARY, (BATCH, length + 1), device="cuda")
    with named("forward"):
        logits = model(tokens[:, :-1])
    with named("loss"):
        loss = torch.nn.functional.cross_entropy(logits.float().flatten(0, 1), tokens[:, 1:].flatten())
    with named("backward"):
        loss.backward()
    with named("optimizer"):
        optimizer.step()
        optimizer.zero_grad()
    return loss


with named("model init"):
    model = Model().cuda()
    optimizer = torch.optim.AdamW(model.parameters())
free, _ = torch.cuda.mem_get_info()
with named("other tenant"):
    other = torch.empty(max(0, free - int(arguments.room * 2**30)), dtype=torch.uint8, device="cuda")
for number in range(arguments.steps):
    with named("step"):
        length = 512 if number < arguments.steps - 2 else arguments.longest
        step(model, optimizer, length)
torch.cuda.synchronize()
print(f"done: {torch.cuda.max_memory_allocated() / 2**30:.2f} GiB allocated at most")
