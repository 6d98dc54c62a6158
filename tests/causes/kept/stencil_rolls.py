# cause: temporaries
# owner: laplacian|step
# change: fuse|in place|ElementwiseKernel|out=|reuse|smaller|kernel|piece|preallocate
# source: the kind of finite-difference code moved from NumPy to CuPy
import json
import cupy as cp

SIDE, SPACING, DT = 512, 0.1, 1e-4


def laplacian(u):
    total = cp.roll(u, 1, 0) + cp.roll(u, -1, 0)
    total = total + cp.roll(u, 1, 1) + cp.roll(u, -1, 1)
    total = total + cp.roll(u, 1, 2) + cp.roll(u, -1, 2)
    return (total - 6 * u) / SPACING**2


def step(u):
    return u + DT * laplacian(u)


def simulate(steps):
    u = cp.zeros((SIDE, SIDE, SIDE), dtype=cp.float32)
    u[SIDE // 2, SIDE // 2, SIDE // 2] = 1
    for i in range(steps):
        u = step(u)
        if i % 10 == 0:
            print(i, float(u.max()))
    return u


simulate(30)
one = SIDE**3 * 4
print(json.dumps({"bytes": [one, 2 * one, 3 * one, 4 * one, 5 * one]}))
