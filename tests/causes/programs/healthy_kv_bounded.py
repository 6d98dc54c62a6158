# cause: none
# source: a healthy program
import torch

layers, sessions = 8, {}
for request in range(40):
    sessions[request] = [torch.zeros(2, 8, 256, 64, dtype=torch.float16, device="cuda") for _ in range(layers)]
    if len(sessions) > 6:
        del sessions[min(sessions)]
