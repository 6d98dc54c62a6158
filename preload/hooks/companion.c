/* The functions that companion libraries call; see companion.h. */
#include "companions/companion.h"

#include <errno.h>

#include "core/counted.h"
#include "core/record.h"

#define EXPORT __attribute__((visibility("default")))

/* The allocator of a companion library may differ from that of malloc, and then malloc's function
 * cannot report its sizes. So either each of its blocks is recorded, or none. */
static bool is_off(void) { return mp_counted.on && !mp_counted.usable; }

EXPORT void memprof_record_alloc(void *p, size_t bytes)
{
    if (is_off()) return;
    mp_record(MPF_OP_ALLOC, MPF_HEAP_HOST, (uintptr_t)p, bytes);
}
EXPORT void memprof_record_free(void *p)
{
    if (is_off()) return;
    mp_record(MPF_OP_FREE, MPF_HEAP_HOST, (uintptr_t)p, 0);
}
EXPORT void memprof_record_move_begin(void *p)
{
    if (is_off()) return;
    mp_record(MPF_OP_MOVE_BEGIN, MPF_HEAP_HOST, (uintptr_t)p, 0);
}
EXPORT void memprof_record_move_end(void *q, size_t bytes)
{
    if (is_off()) return;
    mp_record(MPF_OP_MOVE_END, MPF_HEAP_HOST, (uintptr_t)q, bytes);
}
EXPORT void memprof_record_fail(size_t bytes)
{
    if (!is_off()) mp_record_fail(MPF_HEAP_HOST, errno, bytes);
}
