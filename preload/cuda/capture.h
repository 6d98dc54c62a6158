/* Stream captures under way in the process. */
#ifndef MP_CAPTURE_H
#define MP_CAPTURE_H

#include <cuda.h>
#include <stdbool.h>

/* Is any stream of the process capturing? */
bool mp_capture_under_way(void);
/* Returns true if the stream is being captured: an allocation in it is a graph node, not memory. */
bool mp_capture_on(CUstream stream);

#endif
