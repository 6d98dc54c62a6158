# cause: activations
# owner: forward|ConvBlock|train_step|encode
# change: checkpoint|batch|crop|smaller|autocast|bf16|half
# source: the kind of segmentation of whole slides at full resolution
import json
import torch


class ConvBlock(torch.nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.conv1, self.norm1 = torch.nn.Conv2d(inputs, outputs, 3, padding=1), torch.nn.BatchNorm2d(outputs)
        self.conv2, self.norm2 = torch.nn.Conv2d(outputs, outputs, 3, padding=1), torch.nn.BatchNorm2d(outputs)

    def forward(self, x):
        x = torch.relu(self.norm1(self.conv1(x)))
        return torch.relu(self.norm2(self.conv2(x)))


class UNet(torch.nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.down = torch.nn.ModuleList([ConvBlock(3, width), ConvBlock(width, 2 * width), ConvBlock(2 * width, 4 * width)])
        self.up = torch.nn.ModuleList([ConvBlock(6 * width, 2 * width), ConvBlock(3 * width, width)])
        self.head = torch.nn.Conv2d(width, 5, 1)

    def forward(self, x):
        skips = []
        for block in self.down:
            x = block(x)
            skips.append(x)
            x = torch.nn.functional.max_pool2d(x, 2)
        x = skips.pop()
        for block in self.up:
            x = torch.nn.functional.interpolate(x, scale_factor=2)
            x = block(torch.cat([x, skips.pop()], 1))
        return self.head(x)


def train_step(model, optimizer, images, masks):
    loss = torch.nn.functional.cross_entropy(model(images), masks)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


torch.cuda.set_per_process_memory_fraction(10 * 2**30 / torch.cuda.get_device_properties(0).total_memory)
model = UNet().cuda()
optimizer = torch.optim.AdamW(model.parameters())
images, masks = torch.randn(4, 3, 1536, 1536, device="cuda"), torch.randint(5, (4, 1536, 1536), device="cuda")
base, held = torch.cuda.memory_allocated(), 0
try:
    train_step(model, optimizer, images, masks)
except torch.OutOfMemoryError:
    held = torch.cuda.memory_allocated() - base
print(json.dumps({"bytes": [held]}))
