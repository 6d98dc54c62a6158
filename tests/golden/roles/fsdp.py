"""A transformer of eight layers under FSDP2. Each layer is a separate group."""
import os

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard

from pytorch_roles import base, done, saved, record_roles

rank = int(os.environ["RANK"])
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
torch.manual_seed(0)
layers = torch.nn.ModuleList([torch.nn.TransformerEncoderLayer(1024, 16, 4096, batch_first=True, dropout=0.0) for _ in range(2)])


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(16000, 1024)
        self.layers = layers
        self.head = torch.nn.Linear(1024, 16000)

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


model = Model().cuda()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)


def gathered():
    out = []
    for m in model.modules():
        if not hasattr(m, "_get_fsdp_state"):
            continue
        group = m._get_fsdp_state()._fsdp_param_group
        for p in group.fsdp_params if group else ():
            out += list(getattr(p, "all_gather_outputs", []))
            if getattr(p, "_unsharded_param", None) is not None:
                out.append(p._unsharded_param)
    return out


for step in range(1, 5):
    ids = torch.randint(0, 16000, (4, 256), device="cuda")
    logits = model(ids)
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids.flatten())
    if step == 3:
        record_roles("boundary", dict(base(model, optimizer), inputs=[ids], outputs=[logits, loss], gathered=gathered(), saved=saved(loss.grad_fn)))
    loss.backward()
    if step == 3:
        record_roles("backward", dict(base(model, optimizer), inputs=[ids], outputs=[logits, loss], gathered=gathered()))
    optimizer.step()
    if step == 3:
        record_roles("step", dict(base(model, optimizer), inputs=[ids], outputs=[logits, loss], gathered=gathered()))
    optimizer.zero_grad()
done(world=dist.get_world_size())
dist.destroy_process_group()
