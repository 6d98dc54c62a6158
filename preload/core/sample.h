/* Samples of what the kernel charges the process with, and of jemalloc's statistics. */
#ifndef MP_SAMPLE_H
#define MP_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

/* Takes what is due (every 100 ms; smaps_rollup as often as its cost allows; only what has changed)
 * and notes it in the epoch at hand; everything when `now`.  Under epoch_lock. */
void mp_sample_take(bool now);
/* The limit of the process's memory cgroup in bytes, or MPF_UNKNOWN.  Under epoch_lock, or before
 * there is an encoder. */
uint64_t mp_sample_cgroup_limit(void);

#endif
