/* A heap in one instance of a range, or in several in a row.  Bytes are requested bytes. */
#ifndef MPR_INSTANCE_HEAP_H
#define MPR_INSTANCE_HEAP_H

#include <stdint.h>

struct mpr_instance_heap {
    uint64_t peak_bytes, peak_time;
    uint64_t peak_number;            /* number of the instance with the peak */
    uint64_t begin_bytes, end_bytes; /* live bytes at the begin and at the end: the instance kept
                                        the difference */
    uint64_t allocations;
};

#endif
