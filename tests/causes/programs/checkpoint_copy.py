# cause: holder
# owner: load_checkpoint
# heap: gpu0/torch
# change: map_location|del|cpu
# source: huggingface/transformers#13568 (kind)
import json
import torch

import tempfile

net = torch.nn.Sequential(*[torch.nn.Linear(8192, 8192, bias=False) for _ in range(16)]).cuda()
path = tempfile.mktemp()
torch.save(net.state_dict(), path)


def load_checkpoint():
    return torch.load(path)


checkpoint = load_checkpoint()
net.load_state_dict(checkpoint)
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
for _ in range(4):
    net(torch.randn(64, 8192, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
print(json.dumps({"bytes": [16 * 8192 * 8192 * 4]}))
