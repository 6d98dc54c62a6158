# cause: holder
# owner: allocate_cache|Engine
# change: smaller|max_len|shorter|batch|page|fewer|reduce|length
# source: the kind of engines that reserve a cache for the longest context of all slots
import json
import torch

LAYERS, HEADS, WIDTH, VOCAB = 16, 4, 64, 65536


class Engine:
    def __init__(self, slots, max_length):
        self.weights = [torch.randn(1024, 1024, device="cuda", dtype=torch.float16) * 0.02 for _ in range(4 * LAYERS)]
        self.head = torch.randn(VOCAB, 1024, device="cuda", dtype=torch.float16)
        self.cache = self.allocate_cache(slots, max_length)

    def allocate_cache(self, slots, max_length):
        return [torch.zeros(2, slots, HEADS, max_length, WIDTH, device="cuda", dtype=torch.float16) for _ in range(LAYERS)]

    def prefill(self, slots, length):
        x = torch.randn(len(slots), length, 1024, device="cuda", dtype=torch.float16)
        for i, weight in enumerate(self.weights):
            x = (x @ weight).tanh()
            if i % 4 == 0:
                self.cache[i // 4][0, slots, :, :length] = x[..., :HEADS * WIDTH].unflatten(-1, (HEADS, WIDTH)).transpose(1, 2)
        return x

    def log_probabilities(self, x):
        return (x @ self.head.T).float().log_softmax(-1)


@torch.inference_mode()
def serve(engine, requests):
    for first in range(0, requests, 4):
        hidden = engine.prefill([first % 64 + i for i in range(4)], 256)
        hidden[:, -1].sum().item()
    engine.log_probabilities(engine.prefill(list(range(16)), 1024))  # a request for the scores of its prompt


torch.cuda.set_per_process_memory_fraction(10 * 2**30 / torch.cuda.get_device_properties(0).total_memory)
engine = Engine(slots=64, max_length=8192)
try:
    serve(engine, 60)
except torch.OutOfMemoryError as error:
    print(error)
print(json.dumps({"bytes": [sum(t.numel() * 2 for t in engine.cache), engine.cache[0].numel() * 2]}))
