/* Heaps by the names that reports have them under. */
#ifndef MPR_HEAP_NAMES_H
#define MPR_HEAP_NAMES_H

#include "arena.h"

/* That name as long as the process; NULL: no report has a heap of that name. */
const char *mpr_heap_named(const char *name);
/* Of "gpu0/device" the heap of the blocks that PyTorch makes of it, "gpu0/torch"; NULL: it is no
 * device's. */
const char *mpr_heap_torch_of(struct mpr_arena *arena, const char *heap);

#endif
