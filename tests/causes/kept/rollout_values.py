# cause: growth
# owner: act|collect|forward
# change: detach|no_grad|clear|keeps
# source: the kind of actor-critic loops; basiclab/GNGAN-PyTorch#2
import json
import torch


class Policy(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.Tanh(), torch.nn.Linear(512, 512), torch.nn.Tanh())
        self.pi, self.v = torch.nn.Linear(512, 8), torch.nn.Linear(512, 1)

    def forward(self, obs):
        h = self.body(obs)
        return torch.distributions.Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


class Rollouts:
    def __init__(self):
        self.obs, self.actions, self.rewards, self.values = [], [], [], []

    def clear(self):
        self.obs, self.actions, self.rewards = [], [], []  # the values are forgotten


def act(policy, obs, rollouts):
    dist, value = policy(obs)
    action = dist.sample()
    rollouts.obs.append(obs)
    rollouts.actions.append(action)
    rollouts.values.append(value)
    return action


def collect(policy, rollouts, steps=16):
    for _ in range(steps):
        act(policy, torch.randn(4096, 256, device="cuda"), rollouts)
        rollouts.rewards.append(torch.randn(4096, device="cuda"))


def update(policy, optimizer, rollouts):
    for obs, action, reward in zip(rollouts.obs, rollouts.actions, rollouts.rewards):
        dist, value = policy(obs)
        advantage = (reward - value).detach()
        loss = (value - reward).square().mean() - (dist.log_prob(action) * advantage).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


policy = Policy().cuda()
optimizer = torch.optim.Adam(policy.parameters(), lr=3e-4)
rollouts, used = Rollouts(), []
for _ in range(9):
    collect(policy, rollouts)
    update(policy, optimizer, rollouts)
    rollouts.clear()
    used.append(torch.cuda.memory_allocated())
per_update = used[-1] - used[-2]
print(json.dumps({"bytes": [per_update // 16, per_update, 9 * per_update]}))
