# cause: none
# source: a healthy program: rollouts that are gathered for an epoch, used and cleared
import torch

policy = torch.nn.Sequential(torch.nn.Linear(512, 1024), torch.nn.Tanh(), torch.nn.Linear(1024, 16)).cuda()
optimizer = torch.optim.Adam(policy.parameters(), lr=3e-4, fused=True)


@torch.no_grad()
def collect(steps):
    rollouts = []
    obs = torch.randn(8192, 512, device="cuda")
    for _ in range(steps):
        action = torch.distributions.Categorical(logits=policy(obs)).sample()
        rollouts.append((obs, action, torch.randn(8192, device="cuda")))
        obs = torch.roll(obs, 1, 1) + 0.1 * torch.randn_like(obs)
    return rollouts


def update(rollouts):
    for obs, action, reward in rollouts:
        chosen = torch.distributions.Categorical(logits=policy(obs)).log_prob(action)
        optimizer.zero_grad()
        (-(chosen * reward).mean()).backward()
        optimizer.step()


for epoch in range(8):
    rollouts = collect(48)
    update(rollouts)
    rollouts.clear()
