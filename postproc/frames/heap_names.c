#include "heap_names.h"

#include <string.h>

/* Codes of later versions. */
#define NAME(code) "heap " #code
#define TEN(tens)                                                                                  \
    NAME(tens##0), NAME(tens##1), NAME(tens##2), NAME(tens##3), NAME(tens##4), NAME(tens##5),      \
        NAME(tens##6), NAME(tens##7), NAME(tens##8), NAME(tens##9)
static const char *const unknown[] = { TEN(),   TEN(1),  TEN(2),  TEN(3),  TEN(4),  TEN(5),
                                       TEN(6),  TEN(7),  TEN(8),  TEN(9),  TEN(10), TEN(11),
                                       TEN(12), TEN(13), TEN(14), TEN(15), TEN(16), TEN(17),
                                       TEN(18), TEN(19), TEN(20), TEN(21), TEN(22), TEN(23),
                                       TEN(24), TEN(25) };

const char *mpr_heap_name(uint8_t heap)
{
    const char *known = mpf_heap_name(heap);
    return known ? known : unknown[heap];
}

uint8_t mpr_heap_named(const char *name)
{
    const unsigned heap = mpf_heap_named(name);
    /* Only events use these: host/part is part of host/heap, gpuN/used has samples and no blocks.
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
