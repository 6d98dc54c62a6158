/* The functions that companion libraries call; see companion.h. */
#include "companions/companion.h"

#include <errno.h>

#include "core/counted.h"
#include "core/record.h"
#include "hooks/hook_malloc.h"

#define EXPORT __attribute__((visibility("default")))

/* The allocator of a companion library may differ from that of malloc, and then malloc's function
 * cannot report its sizes. So with MEMPROF_HOST=large each of its blocks is recorded. */

EXPORT void memprof_record_alloc(void *p, size_t bytes)
{
    if (mp_sampled.on) mp_sampled_made(p, bytes);
    else mp_record(MPF_OP_ALLOC, MPF_HEAP_HOST, (uintptr_t)p, bytes);
}

EXPORT void memprof_record_free(void *p)
{
    if (mp_sampled.on) mp_sampled_end(p);
    else mp_record(MPF_OP_FREE, MPF_HEAP_HOST, (uintptr_t)p, 0);
}

EXPORT void memprof_record_move_begin(void *p)
{
    if (!mp_sampled.on) mp_record(MPF_OP_MOVE_BEGIN, MPF_HEAP_HOST, (uintptr_t)p, 0);
    else if (mp_sampled.live && mp_sampled_moves(p)) {
        mp_operator.moving = true;
        mp_operator.deleting = p;
    }
}

/* Returns the block on record whose realloc ends, or NULL. */
static void *end_move(void)
{
    if (!mp_operator.moving) return NULL;
    void *const p = mp_operator.deleting;
    mp_operator.moving = false;
    mp_operator.deleting = NULL;
    return p;
}

EXPORT void memprof_record_move_end(void *q, size_t bytes)
{
    if (!mp_sampled.on) {
        mp_record(MPF_OP_MOVE_END, MPF_HEAP_HOST, (uintptr_t)q, bytes);
        return;
    }
    const bool due = q && mp_sampled_due(bytes);
    if (due) mp_sampled_take_back(bytes);
    mp_sampled_moved(end_move() != NULL, q, bytes, due);
}

EXPORT void memprof_record_fail(size_t bytes)
{
    if (mp_counted_is_off()) return;
    mp_record_fail(MPF_HEAP_HOST, errno, bytes);
    void *const p = end_move();
    if (p) mp_sampled_stays(p);
}
