/* The names of heaps.  Results have the heap's byte of the log (mpf/event.h), or MPF_HEAP_NONE for
 * none or for any; only renderers and options use names. */
#ifndef MPR_HEAP_NAMES_H
#define MPR_HEAP_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "mpf/event.h"

/* Returns "host/heap", "gpu0/torch" and so on, "heap 13" for a heap that this program does not
 * know, and "" for MPF_HEAP_NONE.  The text is never freed. */
const char *mpr_heap_name(uint8_t heap);
/* Returns the heap that reports show under the name, or MPF_HEAP_NONE. */
uint8_t mpr_heap_named(const char *name);
/* Finds the heap for which mpr_heap_name returns this text.  Returns false if there is none. */
bool mpr_heap_read(const char *name, uint8_t *heap);
/* Compares the names, as strcmp does. */
int mpr_heap_by_name(uint8_t a, uint8_t b);

/* Returns the heap whose bytes include those of @heap, or MPF_HEAP_NONE. */
static inline uint8_t mpr_heap_around(uint8_t heap)
{
    return heap == MPF_HEAP_PYTHON ? MPF_HEAP_MMAP : MPF_HEAP_NONE;
}
static inline bool mpr_heap_is_torch(uint8_t heap) { return mpf_heap_code(heap) == MPF_HEAP_TORCH; }
static inline bool mpr_heap_is_device(uint8_t heap)
{
    return mpf_heap_code(heap) == MPF_HEAP_DEVICE;
}
/* Returns the heap of the blocks into which PyTorch divides the device's memory, or MPF_HEAP_NONE
 * if @heap is not a device's. */
static inline uint8_t mpr_heap_torch_of(uint8_t heap)
{
    return mpr_heap_is_device(heap) ? mpf_heap_gpu(MPF_HEAP_TORCH, mpf_heap_device(heap))
                                    : MPF_HEAP_NONE;
}

#endif
