# cause: pinned
# owner: offload|Expert
# change: pin|round|power|register
# source: vllm-project/vllm#56410, pytorch/pytorch#95823
import json
import torch

ROWS, WIDTH, EXPERTS = 17408, 4096, 8


class Expert:
    """Weights that wait in pinned memory of the host until a token needs them."""

    def __init__(self):
        self.host = self.offload(torch.randn(ROWS, WIDTH, device="cuda") * 0.02)

    @staticmethod
    def offload(weight):
        host = torch.empty(weight.shape, dtype=weight.dtype, pin_memory=True)
        return host.copy_(weight)

    def forward(self, x, place):
        place.copy_(self.host, non_blocking=True)
        return x @ place.T


def serve(experts, requests):
    place = torch.empty(ROWS, WIDTH, device="cuda")
    for request in range(requests):
        x = torch.randn(32, WIDTH, device="cuda")
        experts[request % EXPERTS].forward(x, place).sum().item()


experts = [Expert() for _ in range(EXPERTS)]
serve(experts, 64)
asked = ROWS * WIDTH * 4
rounded = 1 << (asked - 1).bit_length()
print(json.dumps({"bytes": [EXPERTS * rounded, EXPERTS * (rounded - asked), EXPERTS * asked, rounded, rounded - asked]}))
