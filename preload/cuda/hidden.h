/* Rare driver calls that move device memory behind everybody's back: the device's used bytes before
 * and after. */
#ifndef MP_HIDDEN_H
#define MP_HIDDEN_H

#include "cuda/call.h"
#include "mpf/gpu.h"

/* Called at the entry, for the thread's current device or the given one. Without a device nothing
 * is measured. */
void mp_hidden_enter(const struct mp_call *call, enum mpf_gpu_call what);
void mp_hidden_enter_on(const struct mp_call *call, enum mpf_gpu_call what, CUdevice device);
/* At the return; a, b, c as enum mpf_gpu_call says. */
void mp_hidden_return(const struct mp_call *call, enum mpf_gpu_call what, uint64_t a, uint64_t b,
                      uint64_t c);
/* The device that the entry measured; -1. */
CUdevice mp_hidden_device(const struct mp_call *call);
/* The next kernel launch is measured too. */
void mp_hidden_watch_launch(void);

#endif
