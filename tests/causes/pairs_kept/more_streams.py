# changed: requests are spread over six streams instead of one, and each stream keeps free memory of its own
# cause: cache
# owner: (?i)preprocess|handle|stream|allocator|cache|PyTorch|pool
# change: (?i)streams?|empty_cache|expandable|PYTORCH_|fewer|reuse|garbage_collection
# larger: after
import json
import sys

import torch
import torch.nn.functional as F

run = sys.argv[1]
IMAGES, SIDE, REQUESTS = 32, 1024, 30


class Preprocessor:
    def __init__(self, streams):
        self.streams = [torch.cuda.Stream() for _ in range(streams)]
        self.mean = torch.tensor([0.485, 0.456, 0.406], device="cuda").view(1, 3, 1, 1)
        self.deviation = torch.tensor([0.229, 0.224, 0.225], device="cuda").view(1, 3, 1, 1)
        torch.cuda.synchronize()

    def preprocess(self):
        images = torch.randint(256, (IMAGES, 3, SIDE, SIDE), dtype=torch.uint8, device="cuda")
        pixels = images.to(torch.float32).div_(255).sub_(self.mean).div_(self.deviation)
        return F.interpolate(pixels, size=(SIDE // 2, SIDE // 2), mode="bilinear")

    def handle(self, request):
        stream = self.streams[request % len(self.streams)]
        with torch.cuda.stream(stream):
            small = self.preprocess()
            answer = small.mean(dim=(1, 2, 3)).cpu()
        stream.synchronize()
        return answer


server = Preprocessor(6 if run == "after" else 1)
with torch.inference_mode():
    for request in range(REQUESTS):
        server.handle(request)
torch.cuda.synchronize()
pixels = IMAGES * 3 * SIDE * SIDE
per_stream = pixels + 4 * pixels + pixels
print(json.dumps({"bytes": [5 * per_stream, 6 * per_stream, torch.cuda.memory_reserved() - torch.cuda.memory_allocated()],
                  "peak": torch.cuda.max_memory_allocated()}))
