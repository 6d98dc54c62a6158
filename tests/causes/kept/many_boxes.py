# cause: instance
# owner: overlaps|assign|train_step
# change: chunk|piece|limit|cpu|split|smaller|batch|skip
# source: the kind of detectors that meet one image with a crowd of boxes (gpu_assign_thr in mmdetection)
import json
import random
import statistics
import torch


class Detector(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Sequential(torch.nn.Conv2d(3, 32, 3, 2, 1), torch.nn.ReLU(), torch.nn.Conv2d(32, 64, 3, 2, 1), torch.nn.ReLU())
        self.head = torch.nn.Conv2d(64, 4 * 3, 1)

    def forward(self, image):
        return self.head(self.body(image)).permute(0, 2, 3, 1).reshape(-1, 4)


def random_boxes(count):
    corner = torch.rand(count, 2, device="cuda") * 700
    return torch.cat([corner, corner + 8 + torch.rand(count, 2, device="cuda") * 90], 1)


def overlaps(anchors, boxes):
    left_top = torch.max(anchors[:, None, :2], boxes[None, :, :2])
    right_bottom = torch.min(anchors[:, None, 2:], boxes[None, :, 2:])
    shared = (right_bottom - left_top).clamp(min=0).prod(-1)
    area = [(b[:, 2:] - b[:, :2]).prod(-1) for b in (anchors, boxes)]
    return shared / (area[0][:, None] + area[1][None] - shared)


def assign(anchors, boxes):
    best, index = overlaps(anchors, boxes).max(1)
    return best > 0.5, boxes[index]


def train_step(model, optimizer, anchors, boxes):
    found = model(torch.randn(1, 3, 800, 800, device="cuda"))
    with torch.no_grad():
        positive, target = assign(anchors, boxes)
    loss = ((found - target).abs().mean(1) * positive).sum() / positive.sum().clamp(min=1)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


random.seed(3)
model = Detector().cuda()
optimizer, peaks = torch.optim.SGD(model.parameters(), lr=1e-6), []
anchors = random_boxes(200 * 200 * 3)
for step in range(40):
    torch.cuda.reset_peak_memory_stats()
    train_step(model, optimizer, anchors, random_boxes(1600 if step == 23 else random.randint(2, 30)))
    peaks.append(torch.cuda.max_memory_allocated())
print(json.dumps({"bytes": [peaks[23] - int(statistics.median(peaks)), peaks[23]]}))
