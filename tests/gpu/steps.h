/* The program's own books of device memory, told to the log by NVTX marks.
 *
 * A mark's text is "step:NAME dev=BYTES managed=BYTES pinned=BYTES pool=BYTES regions=BYTES": what
 * must be live right then in gpu0/device, gpu0/managed, host/pinned, gpu0/pool and nvtx/regions.
 * dev is requested bytes of driver allocations, physical bytes of memory handles, and what the
 * driver says its pools and its graphs have reserved.  The books are device 0's. */
#ifndef STEPS_H
#define STEPS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda.h>

#define MIB ((size_t)1 << 20)

struct books {
    _Atomic uint64_t device, managed, pinned, pool, regions;
};
extern struct books books;

/* cuInit, and device 0's primary context made current; its default pool keeps what it reserved. */
void steps_start(void);
/* The pool's reserved bytes count from now on, or no more. */
void steps_pool(CUmemoryPool pool);
void steps_forget_pool(CUmemoryPool pool);
void step(const char *name);
/* A kernel that does nothing, of a module that is loaded at the first call. */
CUfunction steps_kernel(void);
extern const char steps_ptx[];
/* Physical memory of device 0, for cuMemCreate. */
extern const CUmemAllocationProp steps_physical;

/* Ends the program, with the place and the error's name on stderr, unless the call's result is
 * `expected`. */
void steps_expect(CUresult result, CUresult expected, const char *call, const char *file, int line);
#define OK(call)             steps_expect(call, CUDA_SUCCESS, #call, __FILE__, __LINE__)
#define REFUSED(call, error) steps_expect(call, error, #call, __FILE__, __LINE__)
#define CHECK(condition)                                                                           \
    steps_expect((condition) ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN, CUDA_SUCCESS, #condition,        \
                 __FILE__, __LINE__)

/* Device memory of the current context, in the books. */
CUdeviceptr steps_alloc(size_t bytes);
void steps_free(CUdeviceptr address, size_t bytes);

#endif
