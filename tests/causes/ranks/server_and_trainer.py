# cause: other_process
# owner: server
# heap: gpu0/device
# change: other GPU|gpu_memory_utilization|limit|own GPU
# source: hiyouga/EasyR1#1 (kind): a server that reserves most of a GPU, and a trainer on the same one
import job

role = job.start_roles("server", "trainer")
import torch

total = torch.cuda.mem_get_info()[1]


def make_kv_cache():
    return [torch.empty(total // 40, dtype=torch.uint8, device="cuda") for _ in range(26)]


def serve():
    cache = make_kv_cache()
    job.report(torch.cuda.memory_reserved())
    job.mark("serving")
    job.wait_for("failed")
    return cache


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(x)))


def train():
    job.wait_for("serving")
    net = torch.nn.Sequential(*[Block(2048) for _ in range(6)]).cuda()
    optimizer = torch.optim.AdamW(net.parameters())
    # the activations of 6 blocks take 45 % of the GPU
    tokens = int(0.45 * total / (6 * (2 + 4 + 4) * 2048 * 4)) // 64 * 64
    for step in range(3):
        net(torch.randn(tokens if step == 2 else 1024, 2048, device="cuda")).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


if role == "server":
    serve()
else:
    try:
        train()
    finally:
        job.mark("failed")
