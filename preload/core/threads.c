#include "core/threads.h"

#include <string.h>
#include <sys/prctl.h>

#include "core/config.h"
#include "core/encoder.h"
#include "core/loss.h"
#include "core/pool.h"
#include "core/process.h"
#include "real/real.h"

__thread struct mp_thread *mp_self;
struct mp_thread *mp_threads;

/* What memprof's own threads point to: its guard is always set. */
static struct mp_thread own = { .guard = MP_INSIDE };

void mp_thread_own(void) { mp_self = &own; }
bool mp_thread_is_own(void) { return mp_self == &own; }

static struct mp_thread *take_record(void)
{
    struct mp_process *p = mp_process;
    uint32_t index;
    if (!mp_queue_take(&p->threads_free, p->threads_free_cell, MP_THREADS_MAX, &index)) {
        index = __atomic_fetch_add(&p->threads, 1, __ATOMIC_ACQ_REL);
        if (index >= MP_THREADS_MAX) {
            __atomic_sub_fetch(&p->threads, 1, __ATOMIC_ACQ_REL);
            return NULL;
        }
    }
    return &mp_threads[index];
}

/* The counter is ahead of the array for an instant when that is full. */
uint32_t mp_threads_ever(void)
{
    const uint32_t n = __atomic_load_n(&mp_process->threads, __ATOMIC_ACQUIRE);
    return n < MP_THREADS_MAX ? n : MP_THREADS_MAX;
}

uint32_t mp_thread_records(void)
{
    const struct mp_queue *q = &mp_process->threads_free;
    const uint32_t taken = __atomic_load_n(&q->taken, __ATOMIC_RELAXED), unused = __atomic_load_n(&q->given, __ATOMIC_RELAXED) - taken;
    const uint32_t ever = mp_threads_ever();
    return ever > unused ? ever - unused : 0;
}

static void give_record(struct mp_thread *t)
{
    *t = (struct mp_thread){ 0 };
    mp_queue_give(&mp_process->threads_free, mp_process->threads_free_cell, MP_THREADS_MAX, (uint32_t)(t - mp_threads));
}

/* Slots of the chunk that the thread has reserved. */
static uint32_t used_slots(const struct mp_thread *t, const struct mpf_chunk *c)
{
    const uintptr_t at = (uintptr_t)mp_cursor_slot(t->cur), first = (uintptr_t)c->slot;
    const uintptr_t n = (at - first) / sizeof(struct mpf_slot);
    return n < MPF_CHUNK_SLOTS ? (uint32_t)n : MPF_CHUNK_SLOTS;
}

/* Slots from the cursor to the end stay unused: none of them may look committed to who reads the journal. */
static void close_chunk(struct mp_thread *t, struct mpf_chunk *c)
{
    const uint32_t used = used_slots(t, c);
    for (uint32_t i = used; i < MPF_CHUNK_SLOTS; i++) c->slot[i].head = 0;
    mp_meta_at(mp_pool_index(&mp_process->pool, c))->used = used;
}

/* With no new chunk, the cursor stays behind the last slot of the full one. */
static void stay_at_end(struct mp_thread *t, const struct mpf_chunk *c)
{
    if (c) t->cur = mp_cursor(c, used_slots(t, c));
}

/* A chunk, if need be after waiting for the encoder: as long as it writes a frame each second, whose chunks may be of thousands of
 * threads and not at their end yet.  Then the program goes on without, and waits no more until the next frame is written. */
static struct mpf_chunk *take_chunk(uint32_t number)
{
    struct mp_pool *pool = &mp_process->pool;
    struct mp_patience patience = { 0 };
    for (uint32_t before = 0, frames;; before = frames) {
        const uint32_t seen = __atomic_load_n(&pool->released, __ATOMIC_ACQUIRE);
        frames = __atomic_load_n(&pool->frames, __ATOMIC_ACQUIRE);
        struct mpf_chunk *c = mp_pool_take(number);
        const bool gone_on = __atomic_load_n(&pool->stalled, __ATOMIC_RELAXED) == frames + 1;
        if (c || gone_on || __atomic_load_n(&mp_process->state, __ATOMIC_RELAXED) != MP_ON) return c;
        if (!patience.end || frames != before) patience = mp_patience(1000000000u);
        if (!mp_encoder_relieve(seen, &patience)) {
            __atomic_store_n(&pool->stalled, frames + 1, __ATOMIC_RELAXED);
            return NULL;
        }
    }
}

bool mp_thread_chunk(struct mp_thread *t)
{
    struct mpf_chunk *old = t->last ? mp_chunk_at(t->last - 1) : NULL;
    struct mpf_chunk *c = take_chunk(t->number);
    if (!c) {
        stay_at_end(t, old);
        return false;
    }
    const uint32_t index = mp_pool_index(&mp_process->pool, c);
    if (old) {
        close_chunk(t, old);
        __atomic_store_n(&mp_meta_at(t->last - 1)->next, index + 1, __ATOMIC_RELEASE);
    }
    t->last = index + 1;
    __atomic_store_n(&t->cur, mp_cursor(c, 0), __ATOMIC_RELEASE);
    if (!old) __atomic_store_n(&t->first, index + 1, __ATOMIC_RELEASE);
    if (__atomic_load_n(&mp_process->pool.in_use, __ATOMIC_RELAXED) >= MP_POOL_RESERVE / 4) mp_encoder_wake();
    return true;
}

void mp_thread_tell(struct mp_thread *t)
{
    char name[16] = "";
    t->in_log = mp_loss_now();
    t->gpu_context = 0;
    mp_sys3(SYS_prctl, PR_GET_NAME, (long)name, 0);
    mp_record_data(MPF_OP_THREAD, MPF_HEAP_NONE, (uint64_t)t->tid, name, strnlen(name, sizeof name));
}

/* What a forked child's thread has inherited may become another thread's record: it is not its own any more. */
struct mp_thread *mp_thread_register(void)
{
    mp_self = NULL;
    struct mp_thread *t = take_record();
    if (!t) {
        mp_loss(MPF_LOSS_THREADS, 1);
        return NULL;
    }
    t->number = __atomic_add_fetch(&mp_process->thread_number, 1, __ATOMIC_RELAXED);   /* all else is 0 */
    t->guard = (mp_config.stacks >= MP_STACKS_SAMPLE ? MP_STACKS_WANTED : 0) | (mp_real_has_heap ? 0 : MP_HEAP_UNSEEN);
    if (!mp_thread_chunk(t)) {
        mp_loss(mp_pool_why(), 1);
        give_record(t);
        return NULL;
    }
    const int tid = mp_sys_gettid();
    __atomic_store_n(&t->tid, tid > 0 ? tid : 0, __ATOMIC_RELEASE);     /* refused: nobody can tell whether it is gone */
    mp_self = t;
    mp_thread_tell(t);
    return t;
}

void mp_thread_reclaim(struct mp_thread *t)
{
    close_chunk(t, mp_chunk_at(t->last - 1));
    mp_pool_give(t->last - 1);
    give_record(t);
}
