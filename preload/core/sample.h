/* Samples of the memory that the kernel charges to the process, and of jemalloc's statistics. */
#ifndef MP_SAMPLE_H
#define MP_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

/* Takes the samples that are due (every 100 ms; smaps_rollup as often as its cost allows; only
 * changed values) and adds them to the current epoch. @now: takes all samples. Called under
 * epoch_lock. */
void mp_sample_take(bool everything);
/* Returns the limit of the process's memory cgroup in bytes, or MPF_UNKNOWN. Called under
 * epoch_lock, or before an encoder exists. */
uint64_t mp_sample_cgroup_limit(void);

#endif
