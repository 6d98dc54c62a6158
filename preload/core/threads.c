#include "core/threads.h"
#include "core/records.h"

#include <string.h>
#include <sys/prctl.h>

#include "base/own_stack.h"
#include "core/config.h"
#include "core/counted.h"
#include "core/encoder.h"
#include "core/loss.h"
#include "core/pool.h"
#include "core/record.h"
#include "core/state.h"
#include "real/real.h"

/* Without a new chunk the cursor stays after the last slot of the full one. */
static void stay_at_end(struct mp_thread *t, const struct mpf_chunk *c)
{
    if (c) __atomic_store_n(&t->cur, mp_cursor(c, mp_records_used_slots(t, c)), __ATOMIC_RELEASE);
}

static bool has_chunk(const struct mp_thread *t)
{
    return __atomic_load_n(&t->last, __ATOMIC_RELAXED) != 0;
}

/* Returns true if the thread has ended, so that its chunks can be released. If this cannot be
 * checked, it counts as alive. */
static bool is_gone(const struct mp_thread *t)
{
    const int32_t tid = __atomic_load_n(&t->tid, __ATOMIC_ACQUIRE);
    return tid < 0 || (tid && !mp_sys_thread_lives(mp_process->pid, tid));
}

/* Returns true if chunks may become free: a chunk is free, or its thread has ended. */
static bool chunk_may_become_free(void)
{
    const struct mp_pool *pool = &mp_process->pool;
    const uint32_t threads = mp_threads_ever(),
                   chunks = __atomic_load_n(&pool->chunks, __ATOMIC_RELAXED) -
                            __atomic_load_n(&pool->spoiled, __ATOMIC_RELAXED);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < threads; i++) kept += has_chunk(mp_thread_at(i));
    for (uint32_t i = 0; chunks <= kept && i < threads; i++)
        kept -= has_chunk(mp_thread_at(i)) && is_gone(mp_thread_at(i));
    return chunks > kept;
}

/* The encoder's last count of the threads. The pool may have one chunk for each, plus the
 * reserve. */
struct look {
    uint32_t number, alive;
};

static struct look last_look(void)
{
    const struct mp_pool *pool = &mp_process->pool;
    return (struct look){ __atomic_load_n(&pool->looks, __ATOMIC_ACQUIRE),
                          __atomic_load_n(&pool->alive, __ATOMIC_RELAXED) };
}

/* Returns true if the encoder has not counted since (a count that had started before is ignored),
 * or if its count rose and may rise again. */
static bool alive_may_rise(struct look *before)
{
    const struct look now = last_look();
    const bool may = now.number - before->number < 2 || now.alive > before->alive;
    if (now.alive > before->alive) *before = now;
    return may;
}

/* Takes a chunk. If necessary, waits until the encoder has counted the threads, and as long as it
 * writes a frame each second (its chunks may belong to thousands of threads and not be full yet).
 * After that, or if no chunk can be released, the event is lost, and no thread waits again until a
 * chunk is released. */
static struct mpf_chunk *await_chunk(uint32_t number)
{
    struct mp_pool *pool = &mp_process->pool;
    struct look look = last_look();
    struct mp_patience patience = { 0 };
    for (uint32_t before = 0, frames;; before = frames) {
        const uint32_t seen = __atomic_load_n(&pool->released, __ATOMIC_ACQUIRE);
        frames = __atomic_load_n(&pool->frames, __ATOMIC_ACQUIRE);
        struct mpf_chunk *c = mp_pool_take(number);
        const bool gone_on = __atomic_load_n(&pool->stalled, __ATOMIC_RELAXED) == seen + 1;
        if (c || gone_on || __atomic_load_n(&mp_process->state, __ATOMIC_RELAXED) != MP_ON)
            return c;
        if (!patience.left || frames != before) patience = mp_patience(1000000000u);
        if ((alive_may_rise(&look) || chunk_may_become_free()) &&
            mp_encoder_relieve(seen, &patience))
            continue;
        c = mp_pool_take(number); /* one may have become free just now */
        if (!c) __atomic_store_n(&pool->stalled, seen + 1, __ATOMIC_RELAXED);
        return c;
    }
}

struct wish {
    uint32_t number;
    struct mpf_chunk *chunk;
};

static void get_chunk(void *arg)
{
    struct wish *wish = arg;
    wish->chunk = await_chunk(wish->number);
}

static struct mpf_chunk *take_chunk(uint32_t number)
{
    struct wish wish = { .number = number };
    mp_own_stack_call(get_chunk, &wish);
    return wish.chunk;
}

/* Links the new chunk after the old one, if there is one. */
static void begin_chunk(struct mp_thread *t, struct mpf_chunk *old, struct mpf_chunk *c)
{
    const uint32_t index = mp_pool_index(&mp_process->pool, c);
    if (old) {
        mp_records_close_chunk(t, old);
        __atomic_store_n(&mp_meta_at(t->last - 1)->next, index + 1, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&t->last, index + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&t->cur, mp_cursor(c, 0), __ATOMIC_RELEASE);
    if (!old) __atomic_store_n(&t->first, index + 1, __ATOMIC_RELEASE);
    if (mp_pool_is_short() || mp_pool_has_frame(mp_thread_records())) mp_encoder_wake();
}

bool mp_thread_chunk(struct mp_thread *t)
{
    struct mpf_chunk *old = t->last ? mp_chunk_at(t->last - 1) : NULL;
    struct mpf_chunk *c = take_chunk(t->number);
    if (c) begin_chunk(t, old, c);
    else stay_at_end(t, old);
    return c;
}

void mp_thread_tell(struct mp_thread *t)
{
    char name[16] = "";
    t->in_log = mp_loss_now();
    t->gpu_context = 0;
    mp_sys3(SYS_prctl, PR_GET_NAME, (long)name, 0);
    mp_record_data(MPF_OP_THREAD, MPF_HEAP_NONE, (uint64_t)t->tid, name,
                   strnlen(name, sizeof name));
}

uint32_t mp_thread_guard(void)
{
    return (mp_config.stacks == MP_STACKS_ALL ? MP_STACKS_WANTED : 0) |
           (mp_real_has_heap ? 0 : MP_HEAP_UNSEEN) | (mp_counted.on ? MP_COUNTS : 0);
}

/* Takes the chunk first, because without a chunk each event would take a record and a number
 * here. */
static struct mp_thread *begin_record(void)
{
    struct mpf_chunk *c = take_chunk(0);
    if (!c) {
        mp_loss(mp_pool_why(), 1);
        return NULL;
    }
    struct mp_thread *t = mp_records_take();
    if (!t) {
        mp_loss(mp_threads_ever() < MP_THREADS_MAX ? MPF_LOSS_MEMORY : MPF_LOSS_THREADS, 1);
        mp_pool_give(mp_pool_index(&mp_process->pool, c));
        return NULL;
    }
    t->number = __atomic_add_fetch(&mp_process->thread_number, 1, __ATOMIC_RELAXED);
    t->guard = mp_thread_guard();
    c->thread = t->number;
    begin_chunk(t, NULL, c);
    return t;
}

static void expect_a_long_life(void *arg)
{
    (void)arg;
    mp_encoder_start_later();
}

/* A record that a forked child's thread inherited may become another thread's, so it is not used
 * any more. */
struct mp_thread *mp_thread_register(void)
{
    mp_self = NULL;
    struct mp_thread *t = begin_record();
    if (!t) return NULL;
    const int tid = mp_sys_gettid();
    t->stack = (uintptr_t)__builtin_frame_address(0);
    /* if the ID was refused, the thread's end cannot be detected */
    __atomic_store_n(&t->tid, tid > 0 ? tid : 0, __ATOMIC_RELEASE);
    t->in_log = mp_loss_now() - 1;
    mp_self = t;
    if (t->number == 2) mp_own_stack_call(expect_a_long_life, NULL);
    return t;
}
