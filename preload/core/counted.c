#include "core/counted.h"

#include "core/config.h"
#include "core/records.h"
#include "core/say.h"
#include "core/state.h"
#include "real/real.h"

/* Bytes that a thread makes until it sees to it that an encoder runs: totals reach the log by it.
 */
#define WORTH_AN_ENCODER ((uint64_t)1 << 20)

struct mp_counted mp_counted;

/* An allocator may make something of its own in the first call (tcmalloc, by operator new): that is
 * none of the calls that are counted. */
static bool find_usable(void)
{
    size_t (*usable)(void *) = mp_real_usable();
    if (usable) usable(NULL);
    mp_counted.usable = usable;
    return usable;
}

void mp_counted_init(void)
{
    const enum mp_host_mode mode = mp_real_has_heap ? mp_config.host : MP_HOST_ALL;
    mp_counted.on = mode == MP_HOST_OFF || (mode != MP_HOST_ALL && find_usable());
    mp_counted.large = mp_config.host_large;
    mp_counted.each = !mp_counted.on;
}

void mp_counted_say(void)
{
    if (!mp_real_has_heap || mp_config.host != MP_HOST_LARGE || mp_counted.usable) return;
    mp_say(mp_real_allocator(), " has no malloc_usable_size: every block is recorded", NULL, NULL);
}

struct mp_thread *mp_counted_slow(size_t made)
{
    if (!mp_record_heap_ready() || !mp_self || !mp_self->number) return NULL;
    if (made) mp_record_want_encoder(made >= MP_LARGE);
    return mp_self;
}

void mp_counted_look(struct mp_thread *t, void *p, size_t usable)
{
    if (t->made.bytes + usable >= t->due) {
        if (t->due) mp_record_want_encoder(true);
        t->due = t->due ? UINT64_MAX : WORTH_AN_ENCODER;
    }
    if (usable >= mp_counted.large) mp_record(MPF_OP_ALLOC, MPF_HEAP_PART, (uintptr_t)p, usable);
    else mp_counted_add(&t->made, usable);
}

struct mp_counted_move mp_counted_moves(void *p)
{
    struct mp_counted_move m = { .t = mp_counted.usable ? mp_counted_thread(0) : NULL };
    if (!m.t) return m;
    m.usable = mp_counted.usable(p);
    m.recorded = m.usable >= mp_counted.large;
    if (m.recorded) mp_record(MPF_OP_MOVE_BEGIN, MPF_HEAP_PART, (uintptr_t)p, 0);
    return m;
}

/* Where both blocks are on record, the end of the one and the beginning of the other are one event.
 */
void mp_counted_moved(const struct mp_counted_move *m, void *q, size_t bytes)
{
    if (!m->t) {
        if (q) mp_counted_thread(bytes);
        return;
    }
    const size_t usable = q ? mp_counted.usable(q) : 0;
    const bool stays = m->recorded && usable >= mp_counted.large;
    if (m->recorded)
        mp_record(MPF_OP_MOVE_END, MPF_HEAP_PART, stays ? (uintptr_t)q : 0, stays ? usable : 0);
    else mp_counted_add(&m->t->freed, m->usable);
    if (q && !stays) mp_counted_add_made(m->t, q, usable);
}

/* What is read is as of some instant of the call. */
static void add(struct mp_totals *to, const struct mp_totals *from)
{
    to->bytes += __atomic_load_n(&from->bytes, __ATOMIC_RELAXED);
    to->blocks += __atomic_load_n(&from->blocks, __ATOMIC_RELAXED);
}

/* Frees first: a block that goes from thread to thread meanwhile is counted, rather than freed
 * before it is made. */
void mp_counted_sum(struct mp_totals *made, struct mp_totals *freed)
{
    const uint32_t threads = mp_threads_ever();
    *freed = mp_process->freed;
    *made = mp_process->made;
    for (uint32_t i = 0; i < threads; i++) add(freed, &mp_threads[i].freed);
    for (uint32_t i = 0; i < threads; i++) add(made, &mp_threads[i].made);
}
