# cause: growth
# owner: encode_prefix|states_of|answer|PrefixCache
# change: evict|bound|limit|cache|key|keep|kept|hold|releas|drop|remov|free|clear|delete|expir
# source: an inference server whose prefix cache uses tensors as keys of a dict; a tensor hashes by identity, so no entry is ever found again
import json
import time

import torch

LAYERS, TOKENS, WIDTH, REQUESTS = 12, 1024, 2048, 40


class Model:
    def __init__(self):
        self.embedding = torch.randn(5000, WIDTH, device="cuda", dtype=torch.float16) * 0.02
        self.weights = [torch.randn(WIDTH, 2 * WIDTH, device="cuda", dtype=torch.float16) * 0.01 for _ in range(LAYERS)]

    def encode_prefix(self, tokens):
        states, hidden = [], self.embedding[tokens]
        for weight in self.weights:
            both = hidden @ weight
            states.append(both)
            hidden = hidden + both[:, :WIDTH]
        return states


class PrefixCache:
    def __init__(self, model):
        self.model, self.entries, self.hits = model, {}, 0

    def states_of(self, tokens):
        if tokens in self.entries:
            self.hits += 1
        else:
            self.entries[tokens] = self.model.encode_prefix(tokens)
        return self.entries[tokens]


def answer(cache, prompt, question):
    tokens = torch.tensor(prompt, device="cuda")
    hidden = cache.model.embedding[question]
    for both in cache.states_of(tokens):
        keys, values = both[:, :WIDTH], both[:, WIDTH:]
        hidden = hidden + torch.softmax(hidden @ keys.t() / WIDTH, dim=-1) @ values
    return hidden.float().mean().item()


# Only four different system prompts are in use.
prompts = [[(number * 131 + place * 7) % 5000 for place in range(TOKENS)] for number in range(4)]
with torch.inference_mode():
    cache = PrefixCache(Model())
    for request in range(REQUESTS):
        answer(cache, prompts[request % 4], torch.arange(16, device="cuda"))
        time.sleep(0.15)
block = TOKENS * 2 * WIDTH * 2
entry = LAYERS * block
print(json.dumps({"bytes": [entry, REQUESTS * entry, (REQUESTS - 4) * entry, block]}))
