/* Local memory: device memory that the driver keeps for the stacks, spilled registers and local
 * arrays of kernels.  Each thread that the device can hold at once has as much as the most
 * demanding kernel launched so far needs.  A launch makes it grow without an allocation call.
 *
 * CU_LIMIT_STACK_SIZE reads as the bytes per thread that the driver keeps (driver 580, an H200), so
 * memprof asks for the limit instead of listening to launches.  Each function may be called in a
 * driver callback; context: the thread's current one, NULL: none. */
#ifndef MP_LOCAL_MEMORY_H
#define MP_LOCAL_MEMORY_H

#include <cuda.h>
#include <stdint.h>

/* Returns the bytes by which the context's local memory has grown since the last question about it;
 * negative: it shrank; 0 at the first question. */
int64_t mp_local_memory_growth(CUcontext context);
/* Records such growth, if there is any, as MPF_CALL_LOCAL. */
void mp_local_memory_look(CUcontext context);
/* The context has ended; its handle may be given to another one. */
void mp_local_memory_forget(CUcontext context);

#endif
