# cause: none
# source: a healthy program: speculative decoding with a small and a large model, whose caches are cut back after each rejected draft
import json
import time

import torch

WIDTH, LENGTH, REQUESTS = 4096, 256, 24


class Decoder:
    def __init__(self, layers):
        self.weights = [torch.randn(WIDTH, WIDTH, device="cuda", dtype=torch.float16) * 0.01 for _ in range(layers)]
        self.cache = torch.zeros(layers, LENGTH, WIDTH, device="cuda", dtype=torch.float16)
        self.filled = 0

    def advance(self, count):
        hidden = torch.ones(count, WIDTH, device="cuda", dtype=torch.float16)
        for number, weight in enumerate(self.weights):
            hidden = torch.tanh(hidden @ weight)
            self.cache[number, self.filled:self.filled + count] = hidden
        self.filled += count
        return hidden

    def cut(self, length):
        self.filled = length


def generate(draft, target, tokens):
    draft.cut(0)
    target.cut(0)
    while target.filled + 8 < tokens:
        start = target.filled
        for _ in range(8):
            draft.advance(1)
        target.advance(8)
        accepted = 3 + start % 5
        draft.cut(start + accepted)
        target.cut(start + accepted)


with torch.inference_mode():
    draft, target = Decoder(4), Decoder(80)
    for request in range(REQUESTS):
        generate(draft, target, 40 + request % 5 * 20)
        torch.cuda.synchronize()
        time.sleep(0.05)
print(json.dumps({"bytes": []}))
