# cause: activations
# owner: teacher|forward|distill|Layer
# change: no_grad|inference_mode|checkpoint|detach|batch|smaller
# source: the kind of distillation scripts that run the teacher with gradients
import json
import torch


class Layer(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.up, self.down = torch.nn.LayerNorm(width), torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


def build(layers, width=2048):
    return torch.nn.Sequential(*[Layer(width) for _ in range(layers)], torch.nn.Linear(width, 4096)).cuda()


def teacher_forward(teacher, x):
    teacher.eval()
    return teacher(x)


def distill_step(teacher, student, optimizer, x):
    wanted = teacher_forward(teacher, x)
    after_teacher.append(torch.cuda.memory_allocated())
    loss = torch.nn.functional.kl_div(student(x).log_softmax(-1), wanted.detach().softmax(-1), reduction="batchmean")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


torch.cuda.set_per_process_memory_fraction(10.5 * 2**30 / torch.cuda.get_device_properties(0).total_memory)
teacher, student, after_teacher, total = build(12), build(4), [], 0
optimizer = torch.optim.SGD(student.parameters(), lr=1e-3)
x = torch.randn(8192, 2048, device="cuda")
base = torch.cuda.memory_allocated()
try:
    distill_step(teacher, student, optimizer, x)
except torch.OutOfMemoryError:
    total = torch.cuda.memory_allocated()
print(json.dumps({"bytes": [after_teacher[0] - base, total - base]}))
