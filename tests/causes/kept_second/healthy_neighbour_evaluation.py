# cause: none
# source: a healthy program: after each epoch it gathers the features of all images, searches neighbours in pieces, and drops the features again
import json
import time

import torch
from torch import nn

WIDTH, IMAGES, EPOCHS = 2048, 30, 3


def embed(model, number):
    generator = torch.Generator("cuda").manual_seed(number)
    return model(torch.randn(1024, WIDTH, device="cuda", generator=generator))


def train(model, optimizer):
    for step in range(14):
        loss = (embed(model, step) - 0.5).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        time.sleep(0.03)


@torch.no_grad()
def evaluate(model):
    features = []
    for number in range(IMAGES):
        features.append(torch.nn.functional.normalize(embed(model, number), dim=1))
        time.sleep(0.02)
    right = 0
    for number, queries in enumerate(features):
        best = torch.stack([(queries @ part.t()).amax(dim=1) for part in features])
        right += (best.argmax(dim=0) == number).sum().item()
    return right


torch.backends.cuda.matmul.allow_tf32 = True
layers = [layer for _ in range(48) for layer in (nn.Linear(WIDTH, WIDTH), nn.Tanh())]
model = nn.Sequential(*layers).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for epoch in range(EPOCHS):
    train(model, optimizer)
    evaluate(model)
print(json.dumps({"bytes": []}))
