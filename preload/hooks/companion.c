/* What the companion libraries call; see companion.h. */
#include "companions/companion.h"

#include <errno.h>

#include "core/record.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT void memprof_record_alloc(void *p, size_t bytes)
{
    mp_record(MPF_OP_ALLOC, MPF_HEAP_HOST, (uintptr_t)p, bytes);
}
EXPORT void memprof_record_free(void *p) { mp_record(MPF_OP_FREE, MPF_HEAP_HOST, (uintptr_t)p, 0); }
EXPORT void memprof_record_move_begin(void *p)
{
    mp_record(MPF_OP_MOVE_BEGIN, MPF_HEAP_HOST, (uintptr_t)p, 0);
}
EXPORT void memprof_record_move_end(void *q, size_t bytes)
{
    mp_record(MPF_OP_MOVE_END, MPF_HEAP_HOST, (uintptr_t)q, bytes);
}
EXPORT void memprof_record_fail(size_t bytes) { mp_record_fail(MPF_HEAP_HOST, errno, bytes); }
