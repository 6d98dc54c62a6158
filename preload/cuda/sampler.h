/* The sampler thread: records NVML's figures of each device every 10 ms if they changed.
 *
 * It is also the gate to NVML: once the process is about to end no thread may be in NVML, because
 * its destructors run. */
#ifndef MP_SAMPLER_H
#define MP_SAMPLER_H

#include <stdbool.h>

#define MP_SAMPLER_PERIOD_NS 10000000u

/* Loads NVML and starts the thread.  Called once, in InitializeInjection.  Where NVML is missing it
 * does nothing. */
void mp_sampler_start(void);
/* Called in a forked child, which has no sampler; NVML is the parent's. */
void mp_sampler_reset(void);
/* Called without CUPTI: the sampler looks for devices that the process uses. */
void mp_sampler_seek(void);
/* From now on the device is sampled; nvml: its handle, NULL when NVML does not know it. */
void mp_sampler_watch(int device, void *nvml);

/* Records what NVML says of the device now, in addition to the thread's samples.  Any callback. */
void mp_sampler_now(int device);

/* NVML may be called between these two. Returns false if it may not any more, or if there is none.
 */
bool mp_sampler_enter(void);
void mp_sampler_leave(void);

#endif
