/* Listening to the CUDA driver through CUPTI's callback interface. */
#ifndef MP_CUPTI_H
#define MP_CUPTI_H

#include <stdbool.h>

/* Listens to kernel launches, or no more.  Any callback. */
void mp_cupti_listen_to_launches(bool listen);
/* Called if a subscription that memprof relied on was refused (a CUptiResult): it continues without
 * device allocations. */
void mp_cupti_refused(int result);
/* memprof does without CUPTI in this process, from here on. */
void mp_cupti_give_up(void);
bool mp_cupti_is_given_up(void);
/* In a forked child of a process that uses CUDA, which cannot use it itself: what a refused call
 * records goes to another log, and the sampler's thread is not there. */
void mp_cupti_reset(void);

#endif
