# cause: none
# source: a healthy program: a transcription server with inputs of five padded lengths; the allocator's cache fills in the first requests
import json
import time

import torch

WIDTH, LENGTHS, REQUESTS = 2048, (1500, 750, 3000, 1000, 2000), 60


class Transcriber:
    def __init__(self):
        self.layers = [torch.randn(WIDTH, WIDTH, device="cuda", dtype=torch.float16) * 0.01 for _ in range(160)]

    def pad(self, seconds):
        wanted = seconds * 50
        return min((length for length in LENGTHS if length >= wanted), default=max(LENGTHS))

    def transcribe(self, seconds):
        hidden = torch.ones(8, self.pad(seconds), WIDTH, device="cuda", dtype=torch.float16)
        for layer in self.layers:
            hidden = torch.tanh(hidden @ layer)
        return hidden.mean(dim=(1, 2)).tolist()


with torch.inference_mode():
    transcriber = Transcriber()
    for request in range(REQUESTS):
        transcriber.transcribe(5 + request * 17 % 55)
        time.sleep(0.06)
print(json.dumps({"bytes": []}))
