#include "heap_names.h"

#include <stdio.h>
#include <string.h>

const char *mpr_heap_name(uint8_t heap)
{
    static char unknown[UINT8_MAX + 1][sizeof "heap 255"]; /* codes of later versions */
    const char *known = mpf_heap_name(heap);
    if (known) return known;
    snprintf(unknown[heap], sizeof unknown[heap], "heap %d", heap);
    return unknown[heap];
}

uint8_t mpr_heap_named(const char *name)
{
    const unsigned heap = mpf_heap_named(name);
    /* Only events use these: host/part is part of host/heap, and gpuN/used has samples, not blocks.
     */
    const bool of_events_only = heap == MPF_HEAP_PART || mpf_heap_code(heap) == MPF_HEAP_USED;
    return of_events_only ? MPF_HEAP_NONE : (uint8_t)heap;
}

bool mpr_heap_read(const char *name, uint8_t *heap)
{
    for (unsigned i = 0; i <= UINT8_MAX; i++) {
        *heap = (uint8_t)i;
        if (strcmp(mpr_heap_name(*heap), name) == 0) return true;
    }
    return false;
}

int mpr_heap_by_name(uint8_t a, uint8_t b) { return strcmp(mpr_heap_name(a), mpr_heap_name(b)); }
