/* Rare driver calls that change device memory without an allocation: measures the device's used
 * bytes before and after. */
#ifndef MP_HIDDEN_H
#define MP_HIDDEN_H

#include "cuda/call.h"
#include "mpf/gpu.h"

/* Called at the entry, for the thread's current device or the given one. If there is none, nothing
 * is measured. */
void mp_hidden_enter(const struct mp_call *call, enum mpf_gpu_call kind);
void mp_hidden_enter_on(const struct mp_call *call, enum mpf_gpu_call kind, CUdevice device);
/* Called at the return. @a, @b, @c: as described at enum mpf_gpu_call. */
void mp_hidden_return(const struct mp_call *call, enum mpf_gpu_call kind, uint64_t a, uint64_t b,
                      uint64_t c);
/* Returns the device that the entry measured, or -1. */
CUdevice mp_hidden_device(const struct mp_call *call);
/* Also measures the next kernel launch. */
void mp_hidden_watch_launch(void);

#endif
