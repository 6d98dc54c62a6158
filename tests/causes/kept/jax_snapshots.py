# cause: growth
# owner: fit|train_step|snapshot
# change: keeps|host|device_get|evict|clear|history
# source: the kind of training loops in JAX that keep the parameters of each epoch
import json
import os

os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
os.environ["XLA_PYTHON_CLIENT_ALLOCATOR"] = "platform"
import jax
import jax.numpy as jnp

WIDTH, EPOCHS = 4096, 24


def init(key):
    first, second = jax.random.split(key)
    return {"up": jax.random.normal(first, (WIDTH, WIDTH)) * 0.02, "down": jax.random.normal(second, (WIDTH, WIDTH)) * 0.02}


def loss_of(params, x, y):
    return jnp.mean((jax.nn.relu(x @ params["up"]) @ params["down"] - y) ** 2)


@jax.jit
def train_step(params, x, y):
    loss, grads = jax.value_and_grad(loss_of)(params, x, y)
    return jax.tree_util.tree_map(lambda p, g: p - 0.1 * g, params, grads), loss


def fit(params):
    history = []
    for epoch in range(EPOCHS):
        for step in range(4):
            x = jax.random.normal(jax.random.PRNGKey(100 * epoch + step), (256, WIDTH))
            params, loss = train_step(params, x, x)
        jax.block_until_ready(params)
        history.append({"loss": float(loss), "params": params})
    return history


history = fit(init(jax.random.PRNGKey(0)))
one = 2 * WIDTH * WIDTH * 4
print(json.dumps({"bytes": [one, len(history) * one, (len(history) - 1) * one]}))
