# changed: a refactoring dropped torch.no_grad() around the EMA teacher's forward pass; only its output is detached for the loss, so the teacher's graph stays alive until the step ends
# cause: activations
# owner: (?i)DistillTrainer|teacher_targets|train_step|VisionBackbone|EncoderBlock|FeedForward|SelfAttention
# change: (?i)no_grad|inference_mode|teacher|detach|requires_grad|autograd|graph|saved|activation|backward|checkpoint|forward
# larger: after
import contextlib
import copy
import json
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F


class SelfAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        out = F.scaled_dot_product_attention(q, k, v)
        return self.proj(out.transpose(1, 2).reshape(b, n, d))


class FeedForward(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.up = nn.Linear(dim, 4 * dim)
        self.down = nn.Linear(4 * dim, dim)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))


class EncoderBlock(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.attn = SelfAttention(dim, heads)
        self.norm2 = nn.LayerNorm(dim)
        self.mlp = FeedForward(dim)

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class VisionBackbone(nn.Module):
    def __init__(self, dim=768, depth=12, heads=12, out_dim=4096):
        super().__init__()
        self.patch = nn.Conv2d(3, dim, 14, stride=14)
        self.pos = nn.Parameter(torch.randn(1, 256, dim) * 0.02)
        self.blocks = nn.ModuleList(EncoderBlock(dim, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, out_dim)

    def forward(self, images):
        x = self.patch(images).flatten(2).transpose(1, 2) + self.pos
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x).mean(dim=1))


class DistillTrainer:
    def __init__(self, guard):
        self.guard = guard
        self.student = VisionBackbone().cuda()
        self.teacher = copy.deepcopy(self.student)
        self.opt = torch.optim.AdamW(self.student.parameters(), lr=1e-4, fused=True)
        self.held = (0, 0)

    def teacher_targets(self, images):
        scope = torch.no_grad() if self.guard else contextlib.nullcontext()
        with scope:
            return self.teacher(images)

    @torch.no_grad()
    def update_teacher(self, momentum=0.996):
        for t, s in zip(self.teacher.parameters(), self.student.parameters()):
            t.lerp_(s, 1 - momentum)

    def train_step(self, images):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            m0 = torch.cuda.memory_allocated()
            targets = self.teacher_targets(images)
            m1 = torch.cuda.memory_allocated()
            scores = self.student(images.flip(-1))
            m2 = torch.cuda.memory_allocated()
        probs = F.softmax(targets.detach().float() / 0.04, dim=-1)
        loss = -(probs * F.log_softmax(scores.float() / 0.1, dim=-1)).sum(-1).mean()
        loss.backward()
        self.opt.step()
        self.opt.zero_grad()
        self.update_teacher()
        self.held = (m1 - m0, m2 - m1)
        return loss.item()


def main():
    torch.manual_seed(3)
    trainer = DistillTrainer(guard=sys.argv[1] == "before")
    for step in range(6):
        images = torch.randn(32, 3, 224, 224, device="cuda")
        print(f"[{step}] loss={trainer.train_step(images):.4f}")
    teacher, student = trainer.held
    print(json.dumps({"bytes": [teacher + student, student, teacher], "peak": torch.cuda.max_memory_allocated()}))


if __name__ == "__main__":
    main()
