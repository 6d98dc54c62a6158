# cause: growth
# owner: store|play
# change: bound|cpu|keeps
# source: the kind of reinforcement learning
import json
import torch

policy = torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 16)).cuda()
buffer = []


def store(observation):
    buffer.append(observation.clone())


@torch.no_grad()
def play(episode):
    observation = torch.randn(4096, 1024, device="cuda")
    store(observation)
    return policy(observation).argmax(-1).sum().item()


for episode in range(30):
    play(episode)
print(json.dumps({"bytes": [4096 * 1024 * 4, 30 * 4096 * 1024 * 4]}))
