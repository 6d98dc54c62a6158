# cause: instance
# owner: :14|14|step|train_step|flush|batches|Tagger|forward
# change: batch|split|cap|bound|limit|pieces|smaller|outlier|stands out|input|shape|sort|bucket|one
# source: a loader gathers what its shards left over and hands it out as one batch in the middle of the epoch, eight times as large as the others
import json
import time

import torch
from torch import nn

WIDTH, TOKENS, USUAL, STEPS = 1024, 512, 32, 24
peaks = []


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(10))

    def forward(self, hidden):
        for layer in self.layers:
            hidden = torch.relu(layer(hidden))
        return hidden


class Loader:
    def __init__(self):
        self.leftover = 0

    def batches(self):
        for number in range(STEPS):
            self.leftover += 18
            count = USUAL
            if number == 14:
                count, self.leftover = self.flush(), 0
            yield torch.randn(count, TOKENS, WIDTH, device="cuda")

    def flush(self):
        return self.leftover // 8 * 8


def train_step(model, optimizer, batch):
    torch.cuda.reset_peak_memory_stats()
    loss = (model(batch) - batch).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    peaks.append(torch.cuda.max_memory_allocated())


model = Tagger().cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for batch in Loader().batches():
    train_step(model, optimizer, batch)
    time.sleep(0.15)
print(json.dumps({"bytes": [max(peaks), max(peaks) - sorted(peaks)[STEPS // 2]]}))
