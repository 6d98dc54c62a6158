/* The devices of the process, and their used bytes. */
#ifndef MP_DEVICE_H
#define MP_DEVICE_H

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

#include "cuda/call.h"

/* Records the device's description if the log does not have it. In any callback; for a known
 * device, on any thread. */
void mp_device_seen(CUdevice device);
/* Records each device whose primary context is in use: without CUPTI nothing else reports it. */
void mp_device_seek(void);
/* Called in a forked child: recorded descriptions are in the parent's log. */
void mp_device_reset(void);
/* Returns the device of the thread's current context and records it as above, or -1. */
CUdevice mp_device_current(void);
/* Records the context of the thread's next events, if it differs from that of its previous ones. */
void mp_device_context(const struct mp_call *call);

/* Returns the device's bytes used by all processes, without the driver's reserve, or
 * MPF_UNKNOWN. */
uint64_t mp_device_used(CUdevice device);
/* Called after a call that changed the used bytes: records them if NVML does not report them, as
 * often as the sampler would. */
void mp_device_measure(void);
/* Return the values of cuMemGetInfo in the thread's context, or MPF_UNKNOWN. */
void mp_device_info(uint64_t *free, uint64_t *total);

/* Adds a fact about CUPTI to later descriptions. Key and value must stay valid. */
void mp_device_note(const char *key, const char *value);

#endif
