/* Stream-ordered pools: their blocks (gpuN/pool), and their share of the device (GPU_LEVEL of
 * gpuN/device). */
#ifndef MP_MEMPOOL_H
#define MP_MEMPOOL_H

/* Records the levels of pools that have changed since the last query. In any driver callback. Costs
 * a load if no block of a pool was seen, otherwise about 2 us per pool. */
void mp_mempool_look(void);

#endif
