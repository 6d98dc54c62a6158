# cause: none
# source: a healthy program: CUDA graphs of several batch sizes that share one pool
import random
import torch

BUCKETS = [64, 32, 16, 8, 4, 2, 1]
model = torch.nn.Sequential(*[torch.nn.Sequential(torch.nn.Linear(4096, 8192), torch.nn.SiLU(), torch.nn.Linear(8192, 4096)) for _ in range(6)])
model = model.to("cuda", torch.bfloat16).eval()
pool, graphs = torch.cuda.graph_pool_handle(), {}


def capture(bucket):
    place = torch.zeros(bucket, 256, 4096, device="cuda", dtype=torch.bfloat16)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool):
        output = model(place)
    graphs[bucket] = graph, place, output


def decode(rows):
    bucket = min(b for b in BUCKETS if b >= rows)
    graph, place, output = graphs[bucket]
    place[:rows].normal_()
    graph.replay()
    return output[:rows].float().sum().item()


random.seed(2)
with torch.inference_mode():
    model(torch.zeros(64, 256, 4096, device="cuda", dtype=torch.bfloat16))
    for bucket in BUCKETS:
        capture(bucket)
    for step in range(300):
        decode(random.randint(1, 64))
