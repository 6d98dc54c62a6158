# cause: none
# source: a healthy program: a solver with two buffers that are swapped, results copied to the host now and then
import cupy as cp

SIDE = 320
advance = cp.ElementwiseKernel(
    "raw float32 u, int32 side, float32 dt", "float32 result",
    """int x = i % side, y = i / side % side, z = i / (side * side), plane = side * side;
    float here = u[i], sum = -6 * here;
    sum += u[x ? i - 1 : i + side - 1] + u[x < side - 1 ? i + 1 : i - side + 1];
    sum += u[y ? i - side : i] + u[y < side - 1 ? i + side : i] + u[z ? i - plane : i] + u[z < side - 1 ? i + plane : i];
    result = here + dt * sum;""",
    "advance")


def initial_state():
    u = cp.zeros((SIDE, SIDE, SIDE), dtype=cp.float32)
    u[SIDE // 2] = 1
    return u


def simulate(steps):
    old, saved = initial_state(), []
    new = cp.empty_like(old)
    for step in range(steps):
        advance(old, SIDE, 0.1, new)
        old, new = new, old
        if step % 100 == 99:
            saved.append(cp.asnumpy(old[SIDE // 2, ::8, ::8]))
    return saved


print(len(simulate(1000)))
