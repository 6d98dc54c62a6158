/* A heap and a region are known by their addresses, which NVTX defines as their handles. So nothing
 * is stored here, and replay determines whether a heap or region is known.
 *
 * Descriptions of other versions are ignored, and so is memory without an address (CUDA's arrays).
 */
#include "nvtx/nvtx_memory.h"

#include "core/names.h"
#include "core/record.h"
#include "mpf/event.h"
#include "mpf/sample.h"
#include "nvtx/nvtx_text.h"

static bool is_known(const struct nvtx_description *head, size_t bytes)
{
    return head->compatible == NVTX_MEMORY_COMPATIBLE && head->bytes >= bytes;
}

/* A batch whose elements have at least the expected size. Bytes that a later version adds are
 * skipped. */
#define IS_BATCH(batch, wanted)                                                                    \
    ((batch) && is_known(&(batch)->head, sizeof *(batch)) && (batch)->elements &&                  \
     (batch)->element_bytes >= (wanted))
#define ELEMENT(batch, i)                                                                          \
    ((const void *)((const char *)(batch)->elements + (i) * (batch)->element_bytes))

static void record(unsigned op, const void *at, uint64_t size)
{
    mp_record(op, MPF_HEAP_NVTX, (uintptr_t)at, size);
}

/* ---- heaps */

static const struct nvtx_range *range_of(const struct nvtx_heap *heap)
{
    const bool known = heap && is_known(&heap->head, sizeof *heap) &&
                       heap->type == NVTX_VIRTUAL_ADDRESS &&
                       heap->of_bytes >= sizeof(struct nvtx_range);
    return known ? heap->range : NULL;
}

static void *heap_register(void *domain, const struct nvtx_heap *heap)
{
    const struct nvtx_range *range = range_of(heap);
    (void)domain;
    if (!range || !range->at) return NULL;
    const uint64_t v[MPF_NVTX_COUNT] = {
        [MPF_NVTX_BYTES] = range->bytes,
        [MPF_NVTX_NAME] = mp_nvtx_name(heap->message_type, heap->message),
    };
    mp_record_data(MPF_OP_NVTX_HEAP, MPF_HEAP_NVTX, (uintptr_t)range->at, v, sizeof v);
    return (void *)range->at;
}

static void heap_unregister(void *domain, void *heap)
{
    (void)domain;
    if (heap) record(MPF_OP_NVTX_HEAP_END, heap, 0); /* not for the process heap */
}

static void heap_reset(void *domain, void *heap)
{
    (void)domain;
    record(MPF_OP_NVTX_HEAP_END, heap, 1);
}

/* ---- regions */

static void regions_register(void *domain, const struct nvtx_regions *batch)
{
    (void)domain;
    if (!IS_BATCH(batch, sizeof(struct nvtx_range)) || batch->head.kind != NVTX_VIRTUAL_ADDRESS)
        return;
    record(MPF_OP_NVTX_IN, batch->heap, 0);
    for (size_t i = 0; i < batch->count; i++) {
        const struct nvtx_range *range = ELEMENT(batch, i);
        if (batch->handles) batch->handles[i] = range->at;
        if (range->at) record(MPF_OP_ALLOC, range->at, range->bytes);
    }
}

static void regions_resize(void *domain, const struct nvtx_resizes *batch)
{
    (void)domain;
    if (!IS_BATCH(batch, sizeof(struct nvtx_range)) || batch->head.kind != NVTX_VIRTUAL_ADDRESS)
        return;
    for (size_t i = 0; i < batch->count; i++) {
        const struct nvtx_range *range = ELEMENT(batch, i);
        if (!range->at) continue;
        record(MPF_OP_MOVE_BEGIN, range->at, 0);
        record(MPF_OP_MOVE_END, range->at, range->bytes);
    }
}

static bool is_reference(uint32_t kind)
{
    return kind == NVTX_BY_ADDRESS || kind == NVTX_BY_HANDLE;
}

static void regions_unregister(void *domain, const struct nvtx_references *batch)
{
    (void)domain;
    if (!IS_BATCH(batch, sizeof(void *)) || !is_reference(batch->head.kind)) return;
    for (size_t i = 0; i < batch->count; i++) {
        const void *const *region = ELEMENT(batch, i);
        if (*region) record(MPF_OP_FREE, *region, 0);
    }
}

static void regions_name(void *domain, const struct nvtx_names *batch)
{
    (void)domain;
    if (!IS_BATCH(batch, sizeof(struct nvtx_region_name))) return;
    for (size_t i = 0; i < batch->count; i++) {
        const struct nvtx_region_name *n = ELEMENT(batch, i);
        if (n->region && is_reference(n->reference))
            record(MPF_OP_NVTX_NAME, n->region, mp_nvtx_name(n->message_type, n->message));
    }
}

/* ---- installation */

enum { SLOTS = sizeof(struct nvtx_memory_extension) / sizeof(nvtx_function) };
static const union {
    struct nvtx_memory_extension as;
    intptr_t slot[SLOTS];
} ours = { .as = {
               .MemHeapRegister = heap_register,
               .MemHeapUnregister = heap_unregister,
               .MemHeapReset = heap_reset,
               .MemRegionsRegister = regions_register,
               .MemRegionsResize = regions_resize,
               .MemRegionsUnregister = regions_unregister,
               .MemRegionsName = regions_name,
           } };

bool mp_nvtx_memory_install(const struct nvtx_segment *segment)
{
    if (segment->slots < SLOTS) return false;
    for (size_t i = 0; i < segment->slots; i++)
        if (segment->slot[i]) return false;
    for (size_t i = 0; i < SLOTS; i++) segment->slot[i] = ours.slot[i];
    return true;
}
