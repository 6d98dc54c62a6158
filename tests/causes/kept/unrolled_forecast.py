# cause: activations
# owner: forecast|forward|Emulator|train_step
# change: checkpoint|steps|truncate|batch|shorter|smaller|half|bf16
# source: the kind of weather emulators trained through long rollouts; mindsdb/lightwood#384 (kind)
import json
import torch


class Emulator(torch.nn.Module):
    def __init__(self, fields=64):
        super().__init__()
        self.mix1 = torch.nn.Conv2d(fields, 2 * fields, 3, padding=1, padding_mode="circular")
        self.mix2 = torch.nn.Conv2d(2 * fields, fields, 3, padding=1, padding_mode="circular")

    def forward(self, state):
        return state + 0.1 * self.mix2(torch.nn.functional.gelu(self.mix1(state)))


def forecast(model, state, targets):
    loss = 0
    for target in targets:
        state = model(state)
        loss = loss + (state[:, :4] - target).square().mean()
    return loss


def evaluate(model):
    with torch.no_grad():
        return forecast(model, torch.randn(8, 64, 192, 256, device="cuda"), torch.randn(6, 8, 4, 192, 256, device="cuda")).item()


def train_step(model, optimizer, hours):
    state = torch.randn(8, 64, 192, 256, device="cuda")
    loss = forecast(model, state, torch.randn(hours, 8, 4, 192, 256, device="cuda"))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


torch.cuda.set_per_process_memory_fraction(12 * 2**30 / torch.cuda.get_device_properties(0).total_memory)
model = Emulator().cuda()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
print("before training:", evaluate(model))
base, held = torch.cuda.memory_allocated(), 0
try:
    for _ in range(3):
        train_step(model, optimizer, hours=48)
except torch.OutOfMemoryError:
    held = torch.cuda.memory_allocated() - base
inputs = (8 * 64 + 48 * 8 * 4) * 192 * 256 * 4
print(json.dumps({"bytes": [held, held - inputs]}))
