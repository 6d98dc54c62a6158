# cause: none
# source: a healthy program: a cache with a budget in bytes, which evicts
import collections
import random
import torch

BUDGET = 512 << 20


class PromptCache:
    def __init__(self):
        self.entries, self.used = collections.OrderedDict(), 0

    def get(self, key, make):
        if key in self.entries:
            self.entries.move_to_end(key)
            return self.entries[key]
        value = make()
        self.entries[key] = value
        self.used += value.numel() * value.element_size()
        while self.used > BUDGET:
            _, oldest = self.entries.popitem(last=False)
            self.used -= oldest.numel() * oldest.element_size()
        return value


encoder = torch.nn.TransformerEncoderLayer(1024, 16, 4096, batch_first=True, norm_first=True).cuda().half().eval()
cache = PromptCache()


@torch.inference_mode()
def encode(prompt):
    length = 256 + 64 * (prompt % 13)
    return encoder(torch.randn(8, length, 1024, device="cuda", dtype=torch.float16))


@torch.inference_mode()
def handle_request(prompt):
    memory = cache.get(prompt, lambda: encode(prompt))
    return (memory[:, -1] @ memory[:, 0].T).softmax(-1).sum().item()


random.seed(1)
for request in range(600):
    handle_request(int(random.paretovariate(0.7)) % 400)
