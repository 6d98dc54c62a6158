/* PyTorch's blocks whose memory was taken away below them: an allocator that is plugged in (vLLM's
 * sleep mode, torch_memory_saver) unmaps it, keeps the addresses, and maps other memory there
 * later. PyTorch goes on counting them; the device does not. */
#ifndef MPR_ASLEEP_H
#define MPR_ASLEEP_H

#include "gpu_state.h"

/* The range was unmapped.  *ever: all that were, neighbours joined. */
void mpr_asleep_unmapped(struct mpr_intervals *ever, uint64_t from, uint64_t to);
/* Fills in how many bytes of each of the picture's blocks of PyTorch are asleep: they were unmapped
 * once, and no block of the driver lies there.  Its blocks are by address. */
void mpr_asleep_measure(struct mpr_picture *p, const struct mpr_intervals *ever);

#endif
