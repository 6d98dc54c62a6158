# cause: none
# source: a healthy program; nearly: activations
import torch

WIDTH, LAYERS, TOKENS = 1024, 12, 8192


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(x)))


def model():
    return torch.nn.Sequential(*[Block() for _ in range(LAYERS)]).cuda().bfloat16()


policy, reference = model(), model().requires_grad_(False)
optimizer = torch.optim.SGD(policy.parameters(), lr=1e-5)
for _ in range(8):
    x = torch.randn(TOKENS, WIDTH, device="cuda", dtype=torch.bfloat16)
    with torch.no_grad():
        expected = reference(x)
    (policy(x) - expected).float().square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
torch.cuda.synchronize()
