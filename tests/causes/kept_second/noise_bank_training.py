# cause: holder
# owner: NoiseBank|make_bank|noise
# change: host|CPU|need|smaller|on demand|batch|generate|offload|precision|pieces|move|fewer
# source: a denoiser's training that draws its noise from a bank, which is made once and stays on the GPU in full
import json
import time

import torch
from torch import nn

IMAGES, SIDE, STEPS = 1024, 512, 24


class NoiseBank:
    def __init__(self, count):
        self.noise = self.make_bank(count)

    @staticmethod
    def make_bank(count):
        return torch.randn(count, 4, SIDE, SIDE, device="cuda", dtype=torch.float32)

    def draw(self, count, step):
        first = (step * count) % (len(self.noise) - count)
        return self.noise[first:first + count]


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(4, 32, 3, padding=1)
        self.second = nn.Conv2d(32, 32, 3, padding=1)
        self.last = nn.Conv2d(32, 4, 3, padding=1)

    def forward(self, images):
        return self.last(torch.relu(self.second(torch.relu(self.first(images)))))


bank = NoiseBank(IMAGES)
model = Denoiser().cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for step in range(STEPS):
    noise = bank.draw(8, step)
    clean = torch.rand(8, 4, SIDE, SIDE, device="cuda")
    loss = (model(clean + noise) - noise).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    torch.cuda.synchronize()
    time.sleep(0.1)
print(json.dumps({"bytes": [IMAGES * 4 * SIDE * SIDE * 4]}))
