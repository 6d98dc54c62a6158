/* The sampler thread: what NVML says of each device, every 10 ms, recorded when it changed.
 *
 * Also the gate before NVML: once the process is about to end, nobody may be in it, since its
 * destructors run. */
#ifndef MP_SAMPLER_H
#define MP_SAMPLER_H

#include <stdbool.h>

#define MP_SAMPLER_PERIOD_NS 10000000u

/* Loads NVML and starts the thread.  Called once, in InitializeInjection.  Where NVML is missing it
 * does nothing. */
void mp_sampler_start(void);
/* In a forked child: there is no thread, and NVML is the parent's. */
void mp_sampler_reset(void);
/* CUPTI tells nothing: the sampler looks for the devices that the process uses. */
void mp_sampler_seek(void);
/* From now on the device is sampled; nvml: its handle, NULL when NVML does not know it. */
void mp_sampler_watch(int device, void *nvml);

/* Records what NVML says of the device now, in addition to the thread's samples.  Any callback. */
void mp_sampler_now(int device);

/* Between these two NVML may be called.  False: not any more, or there is none. */
bool mp_sampler_enter(void);
void mp_sampler_leave(void);

#endif
