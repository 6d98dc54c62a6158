/* The devices of the process, and how much of each is used. */
#ifndef MP_DEVICE_H
#define MP_DEVICE_H

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

#include "cuda/call.h"

/* Records the device's description if the log does not have it.  Any callback; of a device that was
 * seen before, any thread. */
void mp_device_seen(CUdevice device);
/* The same for each device whose primary context is in use: without CUPTI nothing else tells of it.
 */
void mp_device_seek(void);
/* In a forked child: what is recorded is in another log. */
void mp_device_reset(void);
/* The device of the thread's current context, recorded as above; -1: there is none. */
CUdevice mp_device_current(void);
/* Tells replay under which context the thread's next events happen, when that is another one than
 * before. */
void mp_device_context(const struct mp_call *call);

/* Bytes used on the device by everybody, without what the driver reserves; MPF_UNKNOWN: nobody
 * tells. */
uint64_t mp_device_used(CUdevice device);
/* Behind a call that changed what is used: records that, where NVML does not tell it, as often as
 * the sampler would. */
void mp_device_measure(void);
/* free and total as cuMemGetInfo gives them for the thread's context; MPF_UNKNOWN. */
void mp_device_info(uint64_t *free, uint64_t *total);

/* A line of facts about CUPTI for the descriptions to come: key and value live forever. */
void mp_device_note(const char *key, const char *value);

#endif
