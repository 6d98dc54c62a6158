#include "core/records.h"

#include <string.h>

#include "core/pool.h"
#include "core/state.h"

__thread struct mp_thread *mp_self;
void *mp_threads_part[MP_THREADS_MAX / MP_THREADS_PART];

/* The record that all of memprof's threads use. Its guard is always set. */
static struct mp_thread own = { .guard = MP_INSIDE };

void mp_thread_own(void) { mp_self = &own; }
bool mp_thread_is_own(void) { return mp_self == &own; }

bool mp_records_map(uint32_t index)
{
    const size_t bytes = MP_THREADS_PART * sizeof(struct mp_thread);
    return mp_sys_map_once(&mp_threads_part[index / MP_THREADS_PART], bytes, true);
}

/* Returns the number of a record that was never used, after mapping its memory. */
static bool extend(uint32_t *index)
{
    uint32_t n = __atomic_load_n(&mp_process->threads, __ATOMIC_RELAXED);
    do {
        if (n >= MP_THREADS_MAX || !mp_records_map(n)) return false;
    } while (!__atomic_compare_exchange_n(&mp_process->threads, &n, n + 1, false, __ATOMIC_ACQ_REL,
                                          __ATOMIC_RELAXED));
    *index = n;
    return true;
}

struct mp_thread *mp_records_take(void)
{
    struct mp_process *p = mp_process;
    uint32_t index;
    if (!mp_queue_take(&p->threads_free, p->threads_free_cell, MP_THREADS_MAX, &index) &&
        !extend(&index))
        return NULL;
    struct mp_thread *t = mp_thread_at(index);
    t->index = (uint16_t)index;
    return t;
}

uint32_t mp_threads_ever(void) { return __atomic_load_n(&mp_process->threads, __ATOMIC_ACQUIRE); }

void mp_records_wipe(void)
{
    for (uint32_t i = 0; i < MP_THREADS_MAX / MP_THREADS_PART; i++)
        if (mp_threads_part[i])
            memset(mp_threads_part[i], 0, MP_THREADS_PART * sizeof(struct mp_thread));
}

/* An event of a thread with such a record leaves the fast path, whatever is recorded. */
void mp_records_retire(void)
{
    const uint32_t threads = mp_threads_ever();
    for (uint32_t i = 0; i < threads; i++) {
        __atomic_store_n(&mp_thread_at(i)->cur, 0, __ATOMIC_RELEASE);
        __atomic_store_n(&mp_thread_at(i)->guard, MP_HEAP_UNSEEN, __ATOMIC_RELEASE);
    }
}

void mp_records_renew(void) { memset(mp_threads_part, 0, sizeof mp_threads_part); }

bool mp_record_is_current(const struct mp_thread *t)
{
    return mp_threads_part[t->index / MP_THREADS_PART] && mp_thread_at(t->index) == t;
}

uint32_t mp_thread_records(void)
{
    const struct mp_queue *q = &mp_process->threads_free;
    const uint32_t taken = __atomic_load_n(&q->taken, __ATOMIC_RELAXED),
                   unused = __atomic_load_n(&q->given, __ATOMIC_RELAXED) - taken;
    const uint32_t ever = mp_threads_ever();
    return ever > unused ? ever - unused : 0;
}

/* Returns the number of slots of the chunk that the thread has reserved. */
uint32_t mp_records_used_slots(const struct mp_thread *t, const struct mpf_chunk *c)
{
    const uintptr_t at = (uintptr_t)mp_cursor_slot(t->cur), first = (uintptr_t)c->slot;
    const uintptr_t n = (at - first) / sizeof(struct mpf_slot);
    return n < MPF_CHUNK_SLOTS ? (uint32_t)n : MPF_CHUNK_SLOTS;
}

/* Slots from the cursor to the end stay unused, so a reader of the journal must not see any of them
 * as committed. Slots that were never used are already empty. */
void mp_records_close_chunk(struct mp_thread *t, struct mpf_chunk *c)
{
    const uint32_t used = mp_records_used_slots(t, c);
    struct mp_chunk_meta *meta = mp_meta_at(mp_pool_index(&mp_process->pool, c));
    for (uint32_t i = used; i < meta->filled; i++) c->slot[i].head = 0;
    meta->filled = used;
    meta->used = used;
}

static void keep_totals(struct mp_totals *sum, const struct mp_totals *thread_totals)
{
    sum->bytes += thread_totals->bytes;
    sum->blocks += thread_totals->blocks;
}

/* Releases the record. */
static void give(struct mp_thread *t)
{
    const uint32_t index = t->index;
    *t = (struct mp_thread){ 0 };
    mp_queue_give(&mp_process->threads_free, mp_process->threads_free_cell, MP_THREADS_MAX, index);
}

void mp_thread_reclaim(struct mp_thread *t)
{
    mp_records_close_chunk(t, mp_chunk_at(t->last - 1));
    mp_pool_give(t->last - 1);
    keep_totals(&mp_process->made, &t->made);
    keep_totals(&mp_process->freed, &t->freed);
    give(t);
}
