# cause: workspaces
# owner: score|serve|answer|workspace|matmul|mm
# change: stream|CUBLAS_WORKSPACE_CONFIG|workspace|fewer|thread
# source: a service with a CUDA stream for each tenant and several worker threads; cuBLAS gets a workspace for each pair of thread and stream
import json
import threading
import time

import torch

TENANTS, THREADS, ROUNDS, WIDTH = 32, 3, 4, 2048


class Tenant:
    def __init__(self):
        self.stream = torch.cuda.Stream()
        self.lock = threading.Lock()

    def score(self, weights, queries):
        with self.lock, torch.cuda.stream(self.stream):
            reply = torch.mm(queries, weights).sum()
            self.stream.synchronize()
        return reply.item()


def serve(tenants, weights, queries):
    with torch.inference_mode():
        for _ in range(ROUNDS):
            for tenant in tenants:
                tenant.score(weights, queries)
                time.sleep(0.02)


weights = torch.zeros(WIDTH, WIDTH, device="cuda", dtype=torch.float16)
queries = torch.ones(256, WIDTH, device="cuda", dtype=torch.float16)
tenants = [Tenant() for _ in range(TENANTS)]
torch.cuda.synchronize()
workers = [threading.Thread(target=serve, args=(tenants, weights, queries)) for _ in range(THREADS)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
workspace = 32 * 2**20  # of cuBLAS on Hopper
print(json.dumps({"bytes": [THREADS * TENANTS * workspace, workspace]}))
