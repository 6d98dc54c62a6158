# cause: holder
# owner: VectorIndex|load_vectors|vectors
# change: host|CPU|half|precision|quanti|smaller|shard|pieces|need|offload|fewer|move
# source: a search server that keeps all document vectors in float32 on the GPU; a bulk job for embeddings no longer fits beside them
import json
import time

import torch

DOCUMENTS, WIDTH, LIMIT = 3_000_000, 768, 14 * 2**30


class VectorIndex:
    def __init__(self, count):
        self.vectors = self.load_vectors(count)

    @staticmethod
    def load_vectors(count):
        vectors = torch.empty(count, WIDTH, dtype=torch.float32, device="cuda")
        for first in range(0, count, 250_000):
            vectors[first:first + 250_000].normal_()
        return vectors

    def search(self, queries):
        return torch.topk(queries @ self.vectors.t(), 10).indices.cpu()


class Embedder:
    def __init__(self):
        self.weights = [torch.randn(4096, 4096, device="cuda", dtype=torch.float16) * 0.01 for _ in range(8)]

    def embed(self, texts):
        hidden = torch.zeros(texts, 4096, device="cuda", dtype=torch.float16)
        for weight in self.weights:
            hidden = torch.relu(hidden @ weight)
        return hidden[:, :WIDTH].float()


torch.cuda.set_per_process_memory_fraction(LIMIT / torch.cuda.get_device_properties(0).total_memory)
with torch.inference_mode():
    index, embedder = VectorIndex(DOCUMENTS), Embedder()
    try:
        for request in range(20):
            index.search(embedder.embed(16))
            time.sleep(0.1)
        embedder.embed(800_000)
    except torch.cuda.OutOfMemoryError:
        print(json.dumps({"bytes": [DOCUMENTS * WIDTH * 4]}), flush=True)
        raise
