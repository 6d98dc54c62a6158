# cause: none
# source: a healthy program: a buffer that follows the longest batch so far, which comes late
import random
import torch


class Scratch:
    """One buffer for the scores of all layers, replaced when a longer batch arrives."""

    def __init__(self):
        self.buffer = torch.empty(0, device="cuda", dtype=torch.float16)

    def view(self, *shape):
        need = torch.Size(shape).numel()
        if self.buffer.numel() < need:
            self.buffer = None
            self.buffer = torch.empty(need, device="cuda", dtype=torch.float16)
        return self.buffer[:need].view(shape)


weights = [torch.randn(1024, 1024, device="cuda", dtype=torch.float16) * 0.03 for _ in range(16)]
scratch = Scratch()


def layer(x, weight):
    q = (x @ weight).unflatten(-1, (16, 64)).transpose(1, 2)
    scores = scratch.view(q.shape[0], 16, q.shape[2], q.shape[2])
    torch.bmm(q.flatten(0, 1), q.flatten(0, 1).transpose(1, 2), out=scores.flatten(0, 1))
    scores.sub_(scores.amax(-1, keepdim=True)).exp_()
    scores.div_(scores.sum(-1, keepdim=True))
    return 0.7 * (x + (scores @ q).transpose(1, 2).flatten(2))


@torch.inference_mode()
def run_batch(length):
    x = torch.randn(4, length, 1024, device="cuda", dtype=torch.float16)
    for weight in weights:
        x = layer(x, weight)
    return x.float().mean().item()


random.seed(5)
for batch in range(80):
    run_batch(random.choice([256, 384, 512, 640]) if batch % 25 < 22 else min(1024 + 128 * (batch // 25), 1280))
