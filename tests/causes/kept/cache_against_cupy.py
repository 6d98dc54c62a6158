# cause: cache
# owner: extract|PyTorch|torch
# change: empty_cache
# source: the kind of pipelines that go on with RAPIDS or CuPy after PyTorch
import json
import cupy
import torch


class Extractor(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = torch.nn.Conv2d(3, 64, 7, 2, 3), torch.nn.Conv2d(64, 128, 3, 2, 1)

    def forward(self, images):
        x = torch.relu(self.conv1(images))
        return torch.relu(self.conv2(x)).mean((2, 3))


@torch.inference_mode()
def extract(model, batches):
    return torch.cat([model(torch.randn(512, 3, 256, 256, device="cuda")).cpu() for _ in range(batches)]).numpy()


def cluster(features, scratch_bytes):
    """The library takes one region for all its temporaries, as large as it believes it can get."""
    scratch = cupy.empty(scratch_bytes // 4, dtype=cupy.float32)
    points = cupy.asarray(features)
    scratch[:points.size] = points.ravel()
    return points.mean(0)


model = Extractor().cuda().eval()
features = extract(model, 12)
cached = torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
free, total = torch.cuda.mem_get_info()
try:
    cluster(features, free + cached // 2)
except cupy.cuda.memory.OutOfMemoryError as error:
    print(error)
print(json.dumps({"bytes": [cached, torch.cuda.memory_reserved()]}))
