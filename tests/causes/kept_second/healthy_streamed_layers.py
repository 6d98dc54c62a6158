# cause: none
# source: a healthy program: a network larger than its share of the GPU, whose last layers are copied through pairs of buffers, pinned and on the GPU
import json
import time

import torch

LAYERS, RESIDENT, WIDTH, PASSES = 16, 24, 4096, 14


class StreamedNetwork:
    def __init__(self):
        self.resident = [torch.randn(WIDTH, WIDTH, device="cuda") * 0.01 for _ in range(RESIDENT)]
        self.on_host = [torch.full((WIDTH, WIDTH), 0.0001) for _ in range(LAYERS)]
        self.staging = [torch.empty(WIDTH, WIDTH, pin_memory=True) for _ in range(2)]
        self.on_gpu = [torch.empty(WIDTH, WIDTH, device="cuda") for _ in range(2)]
        self.copies = torch.cuda.Stream()
        self.ready = [torch.cuda.Event() for _ in range(2)]

    def fetch(self, number):
        slot = number % 2
        self.ready[slot].synchronize()
        self.staging[slot].copy_(self.on_host[number])
        self.copies.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.copies):
            self.on_gpu[slot].copy_(self.staging[slot], non_blocking=True)
            self.ready[slot].record()
        return slot

    def forward(self, hidden):
        for weight in self.resident:
            hidden = torch.tanh(hidden @ weight)
        for number in range(LAYERS):
            slot = self.fetch(number)
            torch.cuda.current_stream().wait_event(self.ready[slot])
            hidden = torch.tanh(hidden @ self.on_gpu[slot])
        return hidden


with torch.inference_mode():
    network = StreamedNetwork()
    features = torch.ones(1024, WIDTH, device="cuda")
    for _ in range(PASSES):
        network.forward(features).mean().item()
        time.sleep(0.02)
print(json.dumps({"bytes": []}))
