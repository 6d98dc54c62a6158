# cause: none
# source: a healthy program: reinforcement learning that keeps the newest 12 rollouts, so memory rises at first and then stays level
import json
import time
from collections import deque

import torch
from torch import nn

WIDTH, DEPTH, STEPS = 4096, 24, 48


class Learner:
    def __init__(self):
        layers = [layer for _ in range(DEPTH) for layer in (nn.Linear(WIDTH, WIDTH), nn.Tanh())]
        self.policy = nn.Sequential(*layers).cuda()
        self.optimizer = torch.optim.SGD(self.policy.parameters(), lr=1e-3)
        self.rollouts = deque(maxlen=12)

    @torch.no_grad()
    def play(self):
        states = torch.randn(1024, WIDTH, device="cuda")
        self.rollouts.append((states, self.policy(states)))

    def learn(self):
        for states, actions in list(self.rollouts)[-3:]:
            loss = (self.policy(states) - 0.9 * actions).square().mean()
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)


torch.backends.cuda.matmul.allow_tf32 = True
learner = Learner()
for step in range(STEPS):
    learner.play()
    learner.learn()
    torch.cuda.synchronize()
    time.sleep(0.1)
print(json.dumps({"bytes": []}))
