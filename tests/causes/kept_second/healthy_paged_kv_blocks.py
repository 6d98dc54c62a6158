# cause: none
# source: a healthy program: an inference server that allocates all pages of its KV cache at the start and hands them out and back
import json
import random
import time

import torch

LAYERS, PAGES, PAGE, WIDTH = 8, 1024, 16, 2048


class Pages:
    def __init__(self):
        self.memory = [torch.zeros(PAGES, PAGE, 2 * WIDTH, device="cuda", dtype=torch.float16) for _ in range(LAYERS)]
        self.free = list(range(PAGES))

    def take(self, count):
        taken, self.free = self.free[:count], self.free[count:]
        return taken

    def give_back(self, pages):
        self.free.extend(pages)


class Engine:
    def __init__(self):
        self.pages = Pages()
        self.weights = [torch.randn(WIDTH, 2 * WIDTH, device="cuda", dtype=torch.float16) * 0.01 for _ in range(LAYERS * 24)]
        self.running = {}

    def admit(self, request, tokens):
        self.running[request] = self.pages.take(-(-tokens // PAGE))

    def step(self):
        for pages in self.running.values():
            hidden = torch.ones(1, WIDTH, device="cuda", dtype=torch.float16)
            for layer in range(LAYERS):
                self.pages.memory[layer][pages[-1], 0] = hidden[0] @ self.weights[layer]
                keys = self.pages.memory[layer][pages[-1], :, :WIDTH]
                hidden = hidden + torch.softmax(hidden @ keys.t() / WIDTH, dim=-1) @ keys

    def finish(self, request):
        self.pages.give_back(self.running.pop(request))


random.seed(5)
with torch.inference_mode():
    engine = Engine()
    for request in range(80):
        engine.admit(request, random.randrange(100, 900))
        if request >= 16:
            engine.finish(request - 16)
        engine.step()
        time.sleep(0.03)
print(json.dumps({"bytes": []}))
