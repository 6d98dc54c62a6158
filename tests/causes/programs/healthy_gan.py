# cause: none
# source: a healthy program
import torch

maker = torch.nn.Sequential(torch.nn.Linear(64, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 3072)).cuda()
judge = torch.nn.Sequential(torch.nn.Linear(3072, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 1)).cuda()
for _ in range(20):
    fake = maker(torch.randn(256, 64, device="cuda"))
    (judge(torch.randn(256, 3072, device="cuda")).mean() - judge(fake.detach()).mean()).backward()
    judge(fake).mean().backward()
    maker.zero_grad()
    judge.zero_grad()
