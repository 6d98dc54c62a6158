# cause: none
# source: a healthy program
import json
import torch

import os

os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
import jax
import jax.numpy as jnp

step = jax.jit(lambda x: jnp.tanh(x @ x))
x = jnp.ones((512, 512))
for _ in range(20):
    x = step(x)
x.block_until_ready()
