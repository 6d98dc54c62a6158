/* NVTX's memory extension: libraries announce their pools. */
#ifndef MP_NVTX_MEMORY_H
#define MP_NVTX_MEMORY_H

#include <stdbool.h>

#include "nvtx/nvtx_abi.h"

/* Takes over the extension's slots.  False: a chained library has them, and they stay its own; the
 * program holds the handles of one of us only. */
bool mp_nvtx_memory_install(const struct nvtx_segment *segment);

#endif
