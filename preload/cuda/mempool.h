/* Stream-ordered pools: their blocks (gpuN/pool), and how much of the device they hold (GPU_LEVEL
 * of gpuN/device). */
#ifndef MP_MEMPOOL_H
#define MP_MEMPOOL_H

/* Records the levels of pools that have changed since they were asked for last.  In any driver
 * callback; costs a load if no block of a pool was seen, else some 2 us per pool. */
void mp_mempool_look(void);

#endif
