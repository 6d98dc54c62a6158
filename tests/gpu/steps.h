/* The program's own counters of device memory, written to the log as NVTX marks.
 *
 * A mark's text is "step:NAME dev=BYTES managed=BYTES pinned=BYTES pool=BYTES regions=BYTES": the
 * bytes that must be live at this time in gpu0/device, gpu0/managed, host/pinned, gpu0/pool and
 * nvtx/regions. dev is the sum of the requested bytes of driver allocations, the physical bytes of
 * memory handles, and the bytes that the driver reports as reserved for its pools and graphs. All
 * counters are for device 0. */
#ifndef STEPS_H
#define STEPS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda.h>

#define MIB ((size_t)1 << 20)

struct counters {
    _Atomic uint64_t device, managed, pinned, pool, regions;
};
extern struct counters counters;

/* Calls cuInit, makes device 0's primary context current, and lets its default pool keep its
 * reserved bytes. */
void steps_start(void);
/* Starts or stops counting the pool's reserved bytes. */
void steps_pool(CUmemoryPool pool);
void steps_forget_pool(CUmemoryPool pool);
void step(const char *name);
/* Returns a kernel that does nothing. Its module is loaded at the first call. */
CUfunction steps_kernel(void);
extern const char steps_ptx[];
/* Physical memory of device 0, for cuMemCreate. */
extern const CUmemAllocationProp steps_physical;

/* If `result` is not `expected`, prints the place and the error's name on stderr and ends the
 * program. */
void steps_expect(CUresult result, CUresult expected, const char *call, const char *file, int line);
#define OK(call)             steps_expect(call, CUDA_SUCCESS, #call, __FILE__, __LINE__)
#define REFUSED(call, error) steps_expect(call, error, #call, __FILE__, __LINE__)
#define CHECK(condition)                                                                           \
    steps_expect((condition) ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN, CUDA_SUCCESS, #condition,        \
                 __FILE__, __LINE__)

/* Allocates and counts device memory in the current context. */
CUdeviceptr steps_alloc(size_t bytes);
void steps_free(CUdeviceptr address, size_t bytes);

#endif
