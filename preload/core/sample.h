/* Samples of the memory that the kernel charges to the process, and of jemalloc's statistics. */
#ifndef MP_SAMPLE_H
#define MP_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

/* A figure that is costly to read is read so seldom that this takes at most 0.2 % of the time. */
#define MP_SAMPLE_COST_FACTOR 500

/* Takes the samples that are due (every 100 ms; smaps_rollup as often as its cost allows; only
 * changed values) and adds them to the current epoch. @everything: takes all samples, because the
 * log ends. Called under epoch_lock. */
void mp_sample_take(bool everything);
/* Returns the limit of the process's memory cgroup in bytes, or MPF_UNKNOWN. Called under
 * epoch_lock, or before an encoder exists. */
uint64_t mp_sample_cgroup_limit(void);

#endif
