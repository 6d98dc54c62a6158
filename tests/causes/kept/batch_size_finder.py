# cause: failed_attempt
# owner: find_batch_size|forward|train_step|attempt
# change: exception|traceback|error|frames|release|del
# source: the kind of batch size finders that keep the exceptions for a report at the end
import json
import torch


class Net(torch.nn.Module):
    def __init__(self, layers=10, width=2048):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(width, width) for _ in range(layers)])

    def forward(self, x):
        for layer in self.layers:
            x = torch.nn.functional.gelu(layer(x))
        return x


def train_step(model, batch):
    x = torch.randn(batch, 2048, device="cuda")
    loss = model(x).square().mean()
    loss.backward()
    model.zero_grad()


def find_batch_size(model, batch):
    errors = []
    while batch > 256:
        try:
            train_step(model, batch)
            return batch, errors
        except torch.OutOfMemoryError as error:
            errors.append((batch, error))
            held.append(torch.cuda.memory_allocated() - base)
            print(f"batch {batch} does not fit")
            batch //= 2
    return None, errors


torch.cuda.set_per_process_memory_fraction(6 * 2**30 / torch.cuda.get_device_properties(0).total_memory)
model = Net().cuda()
base, held = torch.cuda.memory_allocated(), []
batch, errors = find_batch_size(model, 65536)
print("found", batch, "after", len(errors), "attempts")
print(json.dumps({"bytes": [*held]}))
