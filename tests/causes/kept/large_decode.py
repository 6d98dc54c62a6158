# cause: instance
# owner: decode|Decoder|forward|generate
# change: tile|tiling|piece|limit|slice|smaller|split|batch
# source: huggingface/diffusers#10350, huggingface/diffusers#1441
import json
import statistics
import torch


class Up(torch.nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.norm = torch.nn.GroupNorm(32, inputs)
        self.conv = torch.nn.Conv2d(inputs, outputs, 3, padding=1)

    def forward(self, x):
        x = torch.nn.functional.interpolate(torch.nn.functional.silu(self.norm(x)), scale_factor=2.0)
        return self.conv(x)


class Decoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv2d(4, 256, 3, padding=1)
        self.up = torch.nn.Sequential(Up(256, 256), Up(256, 128), Up(128, 128))
        self.last = torch.nn.Conv2d(128, 3, 3, padding=1)

    def forward(self, latent):
        return self.last(torch.nn.functional.silu(self.up(self.first(latent))))


class Denoiser(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Conv2d(4, 320, 3, padding=1), torch.nn.SiLU(), torch.nn.Conv2d(320, 4, 3, padding=1))

    def forward(self, latent):
        return latent - 0.1 * self.net(latent)


@torch.inference_mode()
def generate(denoiser, decoder, height, width):
    latent = torch.randn(1, 4, height // 8, width // 8, device="cuda", dtype=torch.float16)
    for _ in range(8):
        latent = denoiser(latent)
    return (decoder(latent).clamp(-1, 1) * 127 + 128).byte().cpu()


denoiser, decoder = Denoiser().cuda().half(), Decoder().cuda().half()
sizes = [(512, 512), (512, 768), (768, 512), (640, 640)] * 7
sizes[19] = (3072, 2560)
peaks = []
for height, width in sizes:
    torch.cuda.reset_peak_memory_stats()
    generate(denoiser, decoder, height, width)
    peaks.append(torch.cuda.max_memory_allocated())
print(json.dumps({"bytes": [peaks[19] - int(statistics.median(peaks)), peaks[19]]}))
