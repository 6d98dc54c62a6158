/* The sampler thread: records NVML's figures of each device every 10 ms if they changed.
 *
 * It also controls the use of NVML: when the process is about to end, no thread may be in NVML,
 * because its destructors run. */
#ifndef MP_SAMPLER_H
#define MP_SAMPLER_H

#include <stdbool.h>

#define MP_SAMPLER_PERIOD_NS 10000000u

/* Loads NVML and starts the thread. Called once, in InitializeInjection. Does nothing without
 * NVML. */
void mp_sampler_start(void);
/* Called in a forked child, which has no sampler; NVML is the parent's. */
void mp_sampler_reset(void);
/* Called without CUPTI: the sampler looks for devices that the process uses. */
void mp_sampler_seek(void);
/* Samples the device from now on. @nvml: its handle, or NULL if NVML does not know it. */
void mp_sampler_watch(int device, void *nvml);

/* Records NVML's figures of the device now, in addition to the thread's samples. Any callback. */
void mp_sampler_now(int device);

/* NVML may be called between these two. The first one returns false if NVML is missing or must not
 * be called any more. */
bool mp_sampler_enter(void);
void mp_sampler_leave(void);

#endif
