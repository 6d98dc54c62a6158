# cause: idle_gradients
# owner: update_actor|actor|backward|Linear|gradient|step
# change: zero_grad|set_to_none|None|clear|after
# source: reinforcement learning: each update begins with zero_grad(), so the actor's gradients lie idle while the critic is trained
import json
import time

import torch
from torch import nn

ROUNDS = 14


def network(width, depth, activation):
    layers = []
    for _ in range(depth):
        layers += [nn.Linear(width, width, bias=False), activation()]
    return nn.Sequential(*layers)


class Agent:
    def __init__(self):
        with torch.device("cuda"):
            self.actor = network(8192, 6, nn.Tanh)
            self.critic = network(4096, 4, nn.ReLU)
        self.actor_steps = torch.optim.SGD(self.actor.parameters(), lr=1e-3)
        self.critic_steps = torch.optim.SGD(self.critic.parameters(), lr=1e-3)

    def update_actor(self, states):
        self.actor_steps.zero_grad()
        loss = -self.actor(states).mean()
        loss.backward()
        self.actor_steps.step()

    def update_critic(self, states, returns):
        self.critic_steps.zero_grad()
        loss = (self.critic(states).mean(dim=1) - returns).square().mean()
        loss.backward()
        self.critic_steps.step()


torch.backends.cuda.matmul.allow_tf32 = True
agent = Agent()
for round_number in range(ROUNDS):
    agent.update_actor(torch.randn(64, 8192, device="cuda"))
    agent.update_critic(torch.randn(8192, 4096, device="cuda"), torch.randn(8192, device="cuda"))
    torch.cuda.synchronize()
    time.sleep(0.2)
print(json.dumps({"bytes": [6 * 8192 * 8192 * 4]}))
