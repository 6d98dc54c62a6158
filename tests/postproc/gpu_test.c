#include "gpu_test.h"

#include "mpf/sample.h"

void alloc(unsigned code, uint64_t addr, uint64_t size)
{
    event(1, MPF_OP_ALLOC, code, addr, size);
}

void driver_free(uint32_t thread, uint64_t addr)
{
    event(thread, MPF_OP_MOVE_BEGIN, D, addr, 0);
    event(thread, MPF_OP_MOVE_END, D, 0, 0);
}

void enter(uint32_t thread, unsigned call, uint64_t used)
{
    event(thread, MPF_OP_GPU_ENTER, U, call, used);
}

void leave(uint32_t thread, unsigned call, uint64_t used, uint64_t a)
{
    WORDS(thread, MPF_OP_GPU_RETURN, U, used, call, 0, a, 0, 7);
}

void sample(uint64_t used, uint64_t own)
{
    WORDS(9, MPF_OP_SAMPLE_GPU, U, 0, used, 80000 * MIB, own, 0);
}

void push(uint32_t thread, uint32_t domain, uint32_t name)
{
    event(thread, MPF_OP_PUSH, 0, NAME(domain, name), 0);
}
void pop(uint32_t thread, uint32_t domain) { event(thread, MPF_OP_POP, 0, NAME(domain, 0), 0); }

void module(uint64_t from, uint64_t to, const char *path)
{
    uint8_t bytes[256];
    const uint64_t head[] = { to, 4 };
    memcpy(bytes, head, sizeof head);
    memcpy(bytes + sizeof head, "\1\2\3\4", 4);
    memcpy(bytes + sizeof head + 4, path, strlen(path));
    data(1, MPF_OP_MODULE, 0, from, bytes, sizeof head + 4 + strlen(path));
}

void modules(void)
{
    module(0x1000, 0x2000, "/usr/lib/libcuda.so.580.159");
    module(0x3000, 0x4000, "/site-packages/torch/lib/libc10_cuda.so");
    module(0x5000, 0x6000, "/site-packages/nvidia/nccl/lib/libnccl.so.2");
    module(0x7000, 0x8000, "/usr/bin/python3.12");
    module(0x9000, 0xa000, "/site-packages/nvidia/libcudart.so.13");
    WORDS(1, MPF_OP_STACK, 0, 0x51, 0x1100, 0x9100, 0x3100, 0x7100);
    WORDS(1, MPF_OP_STACK, 0, 0x52, 0x1100, 0x5100, 0x7100);
    WORDS(1, MPF_OP_STACK, 0, 0x53, 0x1100, 0x7100);
}

uint64_t path_of(uint64_t node)
{
    uint64_t path = 0;
    unsigned shift = 0;
    for (; node; node = replay.ranges.node[node].parent, shift += 4)
        path |= (uint64_t)replay.ranges.node[node].name << shift;
    return path;
}
