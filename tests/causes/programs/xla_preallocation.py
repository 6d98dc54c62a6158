# cause: other_pool
# owner: jax|device_put|<module>|XLA
# heap: gpu0/device
# change: PREALLOCATE|MEM_FRACTION|MEMPROF
# source: jax-ml/jax#8506 (kind)
import json
import torch

import jax
import jax.numpy as jnp

x = jax.device_put(jnp.ones((4096, 4096)))
for _ in range(3):
    x = (x @ x / 4096).block_until_ready()
limit = jax.devices()[0].memory_stats()["bytes_limit"]
try:
    free, total = torch.cuda.mem_get_info()
    y = torch.empty(int(0.5 * total), dtype=torch.uint8, device="cuda")
except torch.OutOfMemoryError:
    pass
print(json.dumps({"bytes": [limit]}))
