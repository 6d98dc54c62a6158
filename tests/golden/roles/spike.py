"""Twelve steps. In the seventh one a layer allocates 1.5 GiB more."""
import torch

from pytorch_roles import base, done, saved, record_roles


class Block(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.up, self.down, self.wide = torch.nn.Linear(n, 4 * n), torch.nn.Linear(4 * n, n), False

    def forward(self, x):
        y = torch.nn.functional.gelu(self.up(x))
        if self.wide:
            extra = torch.empty(3 << 28, dtype=torch.float16, device="cuda")
            y = y + extra[:1]
        return x + self.down(y)


class Net(torch.nn.Module):
    def __init__(self, n=1024, depth=8):
        super().__init__()
        self.layers = torch.nn.ModuleList(Block(n) for _ in range(depth))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


torch.manual_seed(0)
model = Net().cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for step in range(1, 13):
    with torch.cuda.nvtx.range("step"):
        model.layers[5].wide = step == 7
        with torch.cuda.nvtx.range("forward"):
            x = torch.randn(8192, 1024, device="cuda")
            loss = model(x).square().mean()
        if step == 3:
            record_roles("boundary", dict(base(model, optimizer), inputs=[x], outputs=[loss], saved=saved(loss.grad_fn)))
        with torch.cuda.nvtx.range("backward"):
            loss.backward()
        optimizer.step()
        if step == 3:
            record_roles("step", dict(base(model, optimizer), inputs=[x], outputs=[loss]))
        optimizer.zero_grad()
done()
