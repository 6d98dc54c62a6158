/* Stream captures that are active in the process. */
#ifndef MP_CAPTURE_H
#define MP_CAPTURE_H

#include <cuda.h>
#include <stdbool.h>

/* Returns true if a stream of the process is being captured. */
bool mp_capture_under_way(void);
/* Returns true if the stream is being captured: an allocation in it is a graph node, not memory. */
bool mp_capture_on(CUstream stream);

#endif
