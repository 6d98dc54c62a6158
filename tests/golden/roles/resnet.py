"""ResNet-50, SGD with momentum, autocast to fp16 and a GradScaler."""
import torch
from torchvision.models import resnet18

from pytorch_roles import base, done, saved, record_roles

torch.manual_seed(0)
model = resnet18().cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
scaler = torch.amp.GradScaler("cuda", init_scale=64.0)
criterion = torch.nn.CrossEntropyLoss()


def scaling():
    return [scaler._scale, scaler._growth_tracker]


for step in range(1, 5):
    optimizer.zero_grad()
    x, y = torch.randn(32, 3, 224, 224).cuda(non_blocking=True), torch.randint(0, 1000, (32,)).cuda(non_blocking=True)
    with torch.autocast("cuda", dtype=torch.float16):
        logits = model(x)
        loss = criterion(logits, y)
    scaled = scaler.scale(loss)
    if step == 3:
        record_roles("boundary", dict(base(model, optimizer), inputs=[x, y], outputs=[logits, loss, scaled], scaler=scaling(), saved=saved(scaled.grad_fn)))
    scaled.backward()
    if step == 3:
        record_roles("backward", dict(base(model, optimizer), inputs=[x, y], outputs=[logits, loss, scaled], scaler=scaling()))
    scaler.step(optimizer)
    scaler.update()
    if step == 3:
        record_roles("step", dict(base(model, optimizer), inputs=[x, y], outputs=[logits, loss, scaled], scaler=scaling()))
done()
