/* The kernel's cache of files in the memory of devices that is a NUMA node of the host (GH200).
 *
 * The encoder reads it, whose descriptors are not the program's; who samples devices takes what it
 * read last. */
#ifndef MP_FILE_CACHE_H
#define MP_FILE_CACHE_H

#include <stdint.h>

/* The memory of the device (0 to MPF_GPUS - 1) is this node from now on.  In a call of the driver's
 * that makes the device known. */
void mp_file_cache_watch(unsigned device, unsigned node);
/* Returns the bytes of the device's memory that held files, up to 100 ms ago; MPF_UNKNOWN if it is
 * not a node or has no figures. */
uint64_t mp_file_cache(unsigned device);
/* Reads all that are watched.  On the encoder's thread. */
void mp_file_cache_read(void);
/* Returns these bytes from the text of a node's meminfo. */
uint64_t mp_file_cache_in(const char *meminfo);

#endif
