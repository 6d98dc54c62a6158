/* Local memory: device memory that the driver keeps for the stacks, spilled registers and local
 * arrays of kernels. Each thread that the device can run at once has as much as the most demanding
 * kernel launched so far needs. A launch makes it grow without an allocation call.
 *
 * CU_LIMIT_STACK_SIZE returns the bytes per thread that the driver keeps (driver 580, an H200), so
 * memprof queries the limit instead of observing launches. Each function may be called in a driver
 * callback. @context: the thread's current one, or NULL. */
#ifndef MP_LOCAL_MEMORY_H
#define MP_LOCAL_MEMORY_H

#include <cuda.h>
#include <stdint.h>

/* Returns the bytes by which the context's local memory has grown since the last query. Negative if
 * it shrank, 0 at the first query. */
int64_t mp_local_memory_growth(CUcontext context);
/* Records such growth as MPF_CALL_LOCAL, if there is any. */
void mp_local_memory_look(CUcontext context);
/* The context has ended. Its handle may be reused for another one. */
void mp_local_memory_forget(CUcontext context);

#endif
