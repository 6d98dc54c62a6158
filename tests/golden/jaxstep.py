"""Recorded as h100-jax.zst, and as h100-jax-async.zst with XLA_PYTHON_CLIENT_ALLOCATOR=cuda_async (the first seconds of each), by:
memprof run --host=off -- python3 jaxstep.py"""
import jax, jax.numpy as jnp


def init(key):
    return [jax.random.normal(k, (4096, 4096), jnp.float32) * 0.01 for k in jax.random.split(key, 8)]


def loss(layers, x, y):
    for w in layers:
        x = jnp.tanh(x @ w)
    return jnp.mean((x - y) ** 2)


@jax.jit
def step(layers, momentum, x, y):
    momentum = [0.9 * m + g for m, g in zip(momentum, jax.grad(loss)(layers, x, y))]
    return [w - 0.01 * m for w, m in zip(layers, momentum)], momentum


layers = init(jax.random.key(0))
momentum = [jnp.zeros_like(w) for w in layers]
x = jax.random.normal(jax.random.key(1), (8192, 4096))
y = jnp.zeros_like(x)
for epoch in range(3):
    for i in range(20):
        layers, momentum = step(layers, momentum, x, y)
    print("loss", float(loss(layers, x, y)))
print(jax.devices()[0].memory_stats())
