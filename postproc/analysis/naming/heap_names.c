#include "heap_names.h"

#include <stdbool.h>
#include <string.h>

#include "mpf/event.h"

/* Events speak of these; blocks of the one lie in host/heap, of the other there are none. */
static bool is_of_events_only(unsigned heap)
{
    return heap == MPF_HEAP_PART || mpf_heap_code(heap) == MPF_HEAP_USED;
}

const char *mpr_heap_named(const char *name)
{
    const unsigned heap = mpf_heap_named(name);
    return heap && !is_of_events_only(heap) ? mpf_heap_name(heap) : NULL;
}

const char *mpr_heap_torch_of(struct mpr_arena *arena, const char *heap)
{
    const char *device = strstr(heap, "/device");
    return device ? mpr_arena_format(arena, "%.*s/torch", (int)(device - heap), heap) : NULL;
}
