# cause: none
# source: a healthy program; nearly: other_pool
import json
import torch

import cupy

for _ in range(20):
    a = cupy.random.random((1024, 1024))
    (a @ a).sum().item()
