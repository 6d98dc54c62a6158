#include "room.h"

#include <stdlib.h>

void *mpr_room(void *array, size_t count, size_t *cap, size_t element)
{
    if (count < *cap) return array;
    const size_t wanted = *cap ? *cap * 2 : 16;
    void *grown = realloc(array, wanted * element);
    if (grown) *cap = wanted;
    return grown;
}
