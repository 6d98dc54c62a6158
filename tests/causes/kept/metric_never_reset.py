# cause: growth
# owner: update|validate
# change: reset|clear|keeps|cpu
# source: NRCan/geo-deep-learning#582, Lightning-AI/torchmetrics#3294
import json
import torch

CLASSES, BATCH = 1000, 4096


class AveragePrecision:
    """Keeps the probabilities of all batches, because the curve needs all of them."""

    def __init__(self):
        self.preds, self.target = [], []

    def update(self, logits, target):
        self.preds.append(logits.softmax(-1))
        self.target.append(target)

    def compute(self):
        hits = [(p.argmax(-1) == t).float().mean() for p, t in zip(self.preds, self.target)]
        return torch.stack(hits).mean().item()


model = torch.nn.Sequential(torch.nn.Linear(512, 2048), torch.nn.ReLU(), torch.nn.Linear(2048, CLASSES)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
metric = AveragePrecision()


def batch():
    return torch.randn(BATCH, 512, device="cuda"), torch.randint(CLASSES, (BATCH,), device="cuda")


def train_epoch():
    model.train()
    for _ in range(10):
        x, y = batch()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@torch.no_grad()
def validate():
    model.eval()
    for _ in range(12):
        x, y = batch()
        metric.update(model(x), y)
    return metric.compute()


for epoch in range(10):
    train_epoch()
    validate()
one = BATCH * CLASSES * 4
print(json.dumps({"bytes": [one, 12 * one, len(metric.preds) * one]}))
