# cause: empty_cache
# owner: stem|body|neck|head|respond|detect|MemoryGuard|__exit__
# change: empty_cache
# source: a detection service whose context manager calls empty_cache() after each request, so that each request asks the driver for memory again
import gc
import json
import time

import torch

REQUESTS, ROWS, WIDTH = 32, 163840, 2048


class MemoryGuard:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        gc.collect()
        torch.cuda.empty_cache()


class Detector:
    def __init__(self):
        self.weights = [torch.randn(WIDTH, 2 * WIDTH, device="cuda", dtype=torch.float16) * 0.02 for _ in range(80)]

    def stem(self, pixels):
        return torch.mm(pixels, self.weights[0])

    def body(self, stem):
        return torch.mm(stem[:, :WIDTH], self.weights[1])

    def neck(self, body):
        return torch.mm(body[:, WIDTH:], self.weights[2])

    def head(self, neck):
        return torch.mm(neck[:, :WIDTH], self.weights[3])

    def detect(self, pixels):
        stem = self.stem(pixels)
        body = self.body(stem)
        neck = self.neck(body)
        head = self.head(neck)
        return [level[-1].float().sum().item() for level in (stem, body, neck, head)]


def respond(detector, pixels):
    with MemoryGuard():
        return detector.detect(pixels)


with torch.inference_mode():
    detector = Detector()
    pixels = torch.ones(ROWS, WIDTH, device="cuda", dtype=torch.float16)
    for request in range(REQUESTS):
        respond(detector, pixels)
        time.sleep(0.1)
level = ROWS * 2 * WIDTH * 2
print(json.dumps({"bytes": [4 * level, REQUESTS * 4 * level]}))
