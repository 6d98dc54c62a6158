# cause: failed_attempt
# owner: upsample|decode|VideoDecoder|export_clip
# change: retry|attempt|clear|releas|free|drop|del|reference|before|except
# source: a video service that decodes again with smaller chunks after it ran out of memory, while the frames of the first try are still in its list
import json
import time

import torch
import torch.nn.functional as F

FRAMES, CHANNELS, HEIGHT, WIDTH, LIMIT = 128, 24, 2160, 3840, 16 * 2**30


class VideoDecoder:
    def __init__(self):
        self.mix = torch.randn(1, 3, CHANNELS, device="cuda") * 0.1
        self.frames = []

    def upsample(self, latents):
        features = F.interpolate(latents, size=(HEIGHT, WIDTH), mode="nearest")
        return torch.matmul(self.mix, features.flatten(2)).view(-1, 3, HEIGHT, WIDTH)

    def decode(self, latents, chunk):
        for part in latents.split(chunk):
            self.frames.append(self.upsample(part))
            torch.cuda.synchronize()
            time.sleep(0.05)
        return len(self.frames)

    def frame_bytes(self):
        return sum(frames.numel() * 4 for frames in self.frames)


lost = []


def export_clip(decoder, latents):
    for chunk in (8, 2):
        try:
            return decoder.decode(latents, chunk)
        except torch.cuda.OutOfMemoryError:
            lost.append(decoder.frame_bytes())
            if chunk == 2:
                print(json.dumps({"bytes": [lost[0]]}), flush=True)
                raise
        time.sleep(0.3)
    return 0


torch.cuda.set_per_process_memory_fraction(LIMIT / torch.cuda.get_device_properties(0).total_memory)
with torch.inference_mode():
    export_clip(VideoDecoder(), torch.randn(FRAMES, CHANNELS, HEIGHT // 8, WIDTH // 8, device="cuda"))
