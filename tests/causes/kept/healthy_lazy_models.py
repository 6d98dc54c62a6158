# cause: none
# source: a healthy program: models that are loaded when a request first needs them
import torch


def build(layers, width):
    return torch.nn.Sequential(*[torch.nn.Sequential(torch.nn.Linear(width, 4 * width), torch.nn.GELU(), torch.nn.Linear(4 * width, width))
                                 for _ in range(layers)]).to("cuda", torch.bfloat16).eval()


class Registry:
    KNOWN = {"caption": (8, 2048), "rank": (4, 2048), "translate": (12, 2048), "moderate": (6, 1024)}

    def __init__(self):
        self.loaded = {}

    def model(self, name):
        if name not in self.loaded:
            self.loaded[name] = build(*self.KNOWN[name])
        return self.loaded[name], self.KNOWN[name][1]


@torch.inference_mode()
def handle_request(registry, name, rows):
    model, width = registry.model(name)
    return model(torch.randn(rows, width, device="cuda", dtype=torch.bfloat16)).float().mean().item()


registry = Registry()
for request in range(400):
    names = ["caption"] if request < 40 else ["caption", "rank"] if request < 110 else ["caption", "rank", "translate", "moderate"]
    handle_request(registry, names[request % len(names)], 64 + 32 * (request % 7))
