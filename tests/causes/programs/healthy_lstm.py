# cause: none
# source: a healthy program
import json
import torch

cell = torch.nn.LSTM(256, 512).cuda()
optimizer = torch.optim.SGD(cell.parameters(), lr=1e-3)
state = None
for _ in range(20):
    out, state = cell(torch.randn(16, 32, 256, device="cuda"), state)
    out.square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    state = tuple(s.detach() for s in state)
