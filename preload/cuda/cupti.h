/* Listens to the CUDA driver through CUPTI's callback interface. */
#ifndef MP_CUPTI_H
#define MP_CUPTI_H

#include <stdbool.h>

/* Starts or stops listening to kernel launches. Any callback. */
void mp_cupti_listen_to_launches(bool listen);
/* Called if a subscription that memprof relied on was refused (a CUptiResult): it continues without
 * device allocations. */
void mp_cupti_refused(int result);
/* From now on memprof does not use CUPTI in this process. */
void mp_cupti_give_up(void);
bool mp_cupti_is_given_up(void);
/* Called in a forked child of a process that uses CUDA. The child cannot use CUDA itself: events of
 * a refused call are recorded in another log, and the sampler's thread does not exist. */
void mp_cupti_reset(void);

#endif
