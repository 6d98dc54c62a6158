/* The kernel's file cache in device memory that is a NUMA node of the host (GH200).
 *
 * The encoder reads it, because its descriptor table is not the program's. The sampler of devices
 * uses the last value. */
#ifndef MP_FILE_CACHE_H
#define MP_FILE_CACHE_H

#include <stdint.h>

/* Sets the node of the device's memory (device 0 to MPF_GPUS - 1). Called during a driver call that
 * initialises the device. */
void mp_file_cache_watch(unsigned device, unsigned node);
/* Returns the bytes of the device's memory that contained files up to 100 ms ago, or MPF_UNKNOWN if
 * it is not a node or has no figures. */
uint64_t mp_file_cache(unsigned device);
/* Reads the values of all these nodes. Called on the encoder's thread. */
void mp_file_cache_read(void);
/* Returns these bytes from the text of a node's meminfo. */
uint64_t mp_file_cache_in(const char *meminfo);

#endif
