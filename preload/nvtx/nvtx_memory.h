/* NVTX's memory extension, through which libraries report their pools. */
#ifndef MP_NVTX_MEMORY_H
#define MP_NVTX_MEMORY_H

#include <stdbool.h>

#include "nvtx/nvtx_abi.h"

/* Takes the extension's slots. Returns false if a chained library has them. It then keeps them,
 * because the program has the handles of only one library. */
bool mp_nvtx_memory_install(const struct nvtx_segment *segment);

#endif
