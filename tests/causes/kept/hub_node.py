# cause: instance
# owner: forward|messages|train_step|Convolution
# change: limit|sample|cap|split|smaller|chunk|bound|batch|piece
# source: the kind of graph networks whose neighbour loader meets a node with very many edges
import json
import random
import statistics
import torch

FEATURES, NODES = 256, 20000


class Convolution(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.edge = torch.nn.Sequential(torch.nn.Linear(2 * FEATURES, FEATURES), torch.nn.ReLU())
        self.node = torch.nn.Linear(FEATURES, FEATURES)

    def messages(self, x, source, target):
        return self.edge(torch.cat([x[source], x[target]], 1))

    def forward(self, x, source, target):
        total = torch.zeros_like(x).index_add(0, target, self.messages(x, source, target))
        return torch.relu(self.node(total) + x)


def sample_batch(edges):
    x = torch.randn(NODES, FEATURES, device="cuda")
    return x, torch.randint(NODES, (edges,), device="cuda"), torch.randint(NODES, (edges,), device="cuda")


def train_step(layers, optimizer, edges):
    x, source, target = sample_batch(edges)
    for layer in layers:
        x = layer(x, source, target)
    loss = x.square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


random.seed(11)
layers = torch.nn.ModuleList([Convolution() for _ in range(2)]).cuda()
optimizer, peaks, hub = torch.optim.Adam(layers.parameters(), lr=1e-4), [], 31
for step in range(48):
    torch.cuda.reset_peak_memory_stats()
    train_step(layers, optimizer, 1_500_000 if step == hub else random.randint(40_000, 70_000))
    peaks.append(torch.cuda.max_memory_allocated())
print(json.dumps({"bytes": [peaks[hub] - int(statistics.median(peaks)), peaks[hub]]}))
