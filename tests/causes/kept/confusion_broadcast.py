# cause: temporaries
# owner: confusion_matrix|validate
# change: chunk|piece|slice|smaller|scatter|bincount|batch
# source: fastai/fastai#1022
import json
import torch

CLASSES, SAMPLES = 256, 24576
model = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.GELU(), torch.nn.Linear(1024, CLASSES)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)


def train_epoch():
    for _ in range(20):
        x, y = torch.randn(1024, 256, device="cuda"), torch.randint(CLASSES, (1024,), device="cuda")
        optimizer.zero_grad(set_to_none=True)
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()


def confusion_matrix(predicted, actual):
    classes = torch.arange(CLASSES, device="cuda")
    return ((predicted == classes[:, None]) & (actual == classes[:, None, None])).sum(2)


@torch.no_grad()
def validate():
    predicted = torch.cat([model(torch.randn(4096, 256, device="cuda")).argmax(-1) for _ in range(SAMPLES // 4096)])
    matrix = confusion_matrix(predicted, torch.randint(CLASSES, (SAMPLES,), device="cuda"))
    return (matrix.diagonal().sum() / matrix.sum()).item()


for epoch in range(4):
    train_epoch()
    validate()
one = CLASSES * CLASSES * SAMPLES  # sum() may convert the booleans to int64
print(json.dumps({"bytes": [one, 8 * one, 9 * one]}))
