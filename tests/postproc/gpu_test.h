/* A log of one device that is replayed, shared by the tests of device memory. */
#ifndef GPU_TEST_H
#define GPU_TEST_H

#include "mpf/gpu.h"
#include "mpf/slot.h"
#include "replay_test.h"

#define WORDS(thread, op, heap, addr, ...)                                                         \
    do {                                                                                           \
        const uint64_t words[] = { __VA_ARGS__ };                                                  \
        data(thread, op, heap, addr, words, sizeof words);                                         \
    } while (0)

#define D       ((uint8_t)mpf_heap_gpu(MPF_HEAP_DEVICE, 0))
#define T       ((uint8_t)mpf_heap_gpu(MPF_HEAP_TORCH, 0))
#define U       ((uint8_t)mpf_heap_gpu(MPF_HEAP_USED, 0))
#define POOL    ((uint8_t)mpf_heap_gpu(MPF_HEAP_POOL, 0))
#define MANAGED ((uint8_t)mpf_heap_gpu(MPF_HEAP_MANAGED, 0))
#define PINNED  MPF_HEAP_PINNED
#define MIB     (UINT64_C(1) << 20)
#define A       UINT64_C(0x7f0000000000)
#define B       UINT64_C(0x7f1000000000)

#define NAME(domain, name) ((uint64_t)(domain) << 32 | (name))

static inline const struct mpr_gpu *gpu(void) { return &replay.gpu; }
static inline const struct mpr_gpu_device *device(void) { return &replay.gpu.device[0]; }

void alloc(unsigned code, uint64_t addr, uint64_t size); /* allocates on thread 1 */
void driver_free(uint32_t thread, uint64_t addr);
void push(uint32_t thread, uint32_t domain, uint32_t name);
void pop(uint32_t thread, uint32_t domain);
void enter(uint32_t thread, unsigned call, uint64_t used);
void leave(uint32_t thread, unsigned call, uint64_t used, uint64_t a);
void sample(uint64_t used, uint64_t own);
void module(uint64_t from, uint64_t to, const char *path);
void modules(void); /* defines libraries of CUDA, PyTorch and NCCL, and a program */
/* Returns the names of the path, innermost first, as one number: 3 > 4 > 5 is 0x543. */
uint64_t path_of(uint64_t node);

#endif
